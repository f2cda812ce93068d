"""Look up the Sources for which each ``chunk_id`` was issued. The index is a SQLite file of the home, derived from
the ledger and the Readings in the garage.

It holds every Source of every published Reading, also of documents that have left the graph, and nothing of purged
documents. It holds no text. A lost file is derived again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from kgfs.domain.identity import CHUNK_ID_LENGTHS, chunk_id_of
from kgfs.domain.text import Chunk
from kgfs.stores.database import Database

REMEDY = "It is derived: remove it, and the next kgfs cite makes it again."
SCHEMA = """
CREATE TABLE chunk (
    id          TEXT NOT NULL,              -- the shortest chunk_id; longer ones begin with it
    doc_id      TEXT NOT NULL,
    reading     TEXT NOT NULL,
    chunk_index INTEGER NOT NULL,
    char_start  INTEGER NOT NULL,
    char_end    INTEGER NOT NULL,
    fact        INTEGER NOT NULL,           -- the ledger's number of the publication
    PRIMARY KEY (id, doc_id, reading)
) WITHOUT ROWID;
CREATE INDEX chunk_document ON chunk (doc_id);
CREATE TABLE followed (
    only INTEGER PRIMARY KEY CHECK (only = 1),
    fact INTEGER NOT NULL
);
INSERT INTO followed VALUES (1, 0);
"""


@dataclass(frozen=True, slots=True)
class ChunkRef:
    """A Source of a Reading."""

    doc_id: str
    reading: str
    chunk_index: int


class ChunkIndex:
    """The index of one home. Any number of threads and processes may use it. A power failure may lose added rows,
    together with the position in the ledger."""

    def __init__(self, path: Path) -> None:
        self._database = Database(path, SCHEMA, REMEDY)

    def followed(self) -> int:
        """Return the number of the last fact of the ledger that the index covers."""
        found: int = self._database.row("SELECT fact FROM followed")[0]
        return found

    def follow(
        self, fact: int, published: Iterable[tuple[str, str, int, Sequence[Chunk]]], purged: Iterable[str]
    ) -> None:
        """Add the Sources of Readings, each given as (doc_id, reading, fact, chunks), delete those of purged
        documents, and record ``fact`` as the position in the ledger. One transaction."""
        with self._database.write(durable=False) as connection:
            for doc_id, reading, number, chunks in published:
                connection.executemany(
                    "INSERT OR REPLACE INTO chunk VALUES (?, ?, ?, ?, ?, ?, ?)",
                    (
                        (
                            chunk_id_of(doc_id, c.start, c.end, CHUNK_ID_LENGTHS[0]),
                            doc_id,
                            reading,
                            c.index,
                            c.start,
                            c.end,
                            number,
                        )
                        for c in chunks
                    ),
                )
            connection.executemany("DELETE FROM chunk WHERE doc_id = ?", ((doc_id,) for doc_id in purged))
            connection.execute("UPDATE followed SET fact = ?", (fact,))

    def clear(self) -> None:
        """Delete all rows and reset the position in the ledger to 0."""
        with self._database.write(durable=False) as connection:
            connection.execute("DELETE FROM chunk")
            connection.execute("UPDATE followed SET fact = 0")

    def find(self, chunk_id: str) -> list[ChunkRef]:
        """Return the Sources for which ``chunk_id`` was issued, the latest published first. There are several if a
        document was read several times."""
        rows = self._database.rows(
            "SELECT doc_id, reading, chunk_index, char_start, char_end FROM chunk WHERE id = ? ORDER BY fact DESC",
            (chunk_id[: CHUNK_ID_LENGTHS[0]],),
        )
        return [
            ChunkRef(doc_id, reading, index)
            for doc_id, reading, index, start, end in rows
            if chunk_id_of(doc_id, start, end, len(chunk_id)) == chunk_id
        ]

    def close(self) -> None:
        """Close the file. Idempotent. No other thread may be reading."""
        self._database.close()
