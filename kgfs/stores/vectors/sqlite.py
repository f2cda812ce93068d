"""Vectors as rows of one SQLite file, searched through a memory-mapped matrix derived from the rows."""

from __future__ import annotations

import hashlib
import json
import secrets
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from kgfs.errors import BadInputError
from kgfs.stores.database import Database
from kgfs.stores.vectors.codes import Growing
from kgfs.stores.vectors.contract import Filter, Hit, Row, Vector, checked, is_empty, same_dimensions, unit
from kgfs.stores.vectors.matrix import MatrixFile
from kgfs.stores.vectors.scan import ATTRIBUTES, NUMBERS, Column, Picture, Vocabulary

REMEDY = "The vectors are derived: 'kgfs rebuild' makes them again."
COLUMNS = (
    "kind", "item", "window", "ontology", "doc_id", "chunk_index", "source_variant", "role", "domain", "authority",
)  # fmt: skip
ROWS_READ = 10_000
"""Rows that are read at once into a snapshot."""
COMPACT_FROM = 1000
"""The number of slots without a row from which a new layout is made, once these slots are also half of all."""


class SqliteVectors:
    """The :class:`~kgfs.stores.vectors.contract.Vectors` of one home and model.

    A query costs one point read and the scan. After a write, also by another process, the first query reads only the
    new rows. The matrix takes 4 bytes × dimensions for each row, in the page cache, shared by all processes.
    """

    def __init__(self, path: Path, model: str) -> None:
        schema = resources.files("kgfs.stores.vectors").joinpath("schema.sql").read_text("utf-8")
        self._database = Database(path, schema, REMEDY)
        self._path = path
        self._name = model
        tag = hashlib.sha256(model.encode()).hexdigest()[:12]
        self._file = MatrixFile(path.with_name(f"{path.name}-{tag}.matrix"))
        self._lock = threading.Lock()
        self._state = ("", 0, 0, 0)
        self._picture: Picture | None = None
        self._growing: dict[str, Growing] = {}
        """Where the columns of the snapshots of one layout stand."""

    @property
    def model(self) -> str:
        return self._name

    @property
    def keeps_payload(self) -> bool:
        return False

    @property
    def keeps_content(self) -> bool:
        return False

    # ------------------------------------------------------------------------------------------- writing

    def upsert(self, rows: Sequence[Row]) -> None:
        if not rows:
            return
        vectors = [unit(row.vector, f"{row.kind} {row.item}") for row in rows]
        with self._database.write(durable=True) as connection:
            model, slot = self._room(connection, vectors)
            for row, vector in zip(rows, vectors, strict=True):
                _vacate(connection, model, (row.kind, row.item, row.window))
                values = [getattr(row, column) for column in COLUMNS]
                connection.execute(
                    f"INSERT INTO row (model, slot, {', '.join(COLUMNS)}) VALUES (?, ?, {', '.join('?' * len(values))})",
                    (model, slot, *values),
                )
                connection.execute("INSERT INTO vector VALUES (?, ?, ?)", (model, slot, vector.astype("<f4").tobytes()))
                slot += 1
            connection.execute("UPDATE model SET slots = ? WHERE key = ?", (slot, model))
            _compact(connection, model)

    def _room(self, connection: sqlite3.Connection, vectors: Sequence[Vector]) -> tuple[int, int]:
        """Return the model's key and its next free slot. Add the model if it is new.

        Raise BadInputError if the vectors do not have the dimensions of the model's rows.
        """
        size = vectors[0].size
        found = connection.execute(
            "SELECT key, dimensions, slots, gone FROM model WHERE name = ?", (self._name,)
        ).fetchone()
        if found is None:
            cursor = connection.execute(
                "INSERT INTO model (name, dimensions, layout) VALUES (?, ?, ?)", (self._name, size, _new_layout())
            )
            found = (cursor.lastrowid, size, 0, 0)
        elif found[1] != size and found[2] == found[3]:
            # The model has no rows, so it may start again with other dimensions.
            connection.execute("UPDATE model SET dimensions = ? WHERE key = ?", (size, found[0]))
            _renumber(connection, found[0])
            found = (found[0], size, 0, 0)
        for vector in vectors:
            same_dimensions(vector, found[1], self._name)
        return int(found[0]), int(found[2])

    def delete(self, where: Filter) -> int:
        if is_empty(checked(where)):
            raise BadInputError("Deleting by an empty filter would delete everything; use clear().")
        return self._database.removing(lambda: self._delete(where))

    def _delete(self, where: Filter) -> int:
        condition, values = _condition(where)
        with self._database.write(durable=True) as connection:
            rows = connection.execute(
                f"SELECT model, kind, item, window FROM row WHERE {condition}", (self._name, *values)
            ).fetchall()
            for model, *key in rows:
                _vacate(connection, model, key)
            if rows:
                _compact(connection, rows[0][0])
        return len(rows)

    def erase(self, doc_ids: Sequence[str], concepts: Sequence[str]) -> None:
        self._database.removing(lambda: self._erase(doc_ids, concepts))

    def _erase(self, doc_ids: Sequence[str], concepts: Sequence[str]) -> None:
        condition = "doc_id IN (SELECT value FROM json_each(?)) OR kind = 'concept' AND item IN (SELECT value FROM json_each(?))"
        wanted = (json.dumps(list(doc_ids)), json.dumps(list(concepts)))
        with self._database.write(durable=True) as connection:
            rows = connection.execute(f"SELECT model, kind, item, window FROM row WHERE {condition}", wanted).fetchall()
            for model, *key in rows:
                _vacate(connection, model, key)
            for (model,) in connection.execute("SELECT key FROM model").fetchall():
                _compact(connection, model)
                connection.execute("UPDATE model SET layout = ? WHERE key = ?", (_new_layout(), model))
        self._database.scrub()
        # Every model has a new layout now. Processes keep an old matrix mapped until their next query.
        for matrix in self._path.parent.glob(f"{self._path.name}-*.matrix"):
            matrix.unlink(missing_ok=True)

    def clear(self) -> None:
        with self._database.write(durable=True) as connection:
            _drop(connection, "name = ?", self._name)

    def complete(self) -> bool:
        found = self._database.row("SELECT 1 FROM model WHERE name = ?", (self._name,))
        others = self._database.row("SELECT 1 FROM model WHERE name != ?", (self._name,))
        return bool(found) and not others

    def superseded(self) -> bool:
        return False

    def conclude(self) -> None:
        with self._database.write(durable=True) as connection:
            if not connection.execute("SELECT 1 FROM model WHERE name = ?", (self._name,)).fetchone():
                values = (self._name, 0, _new_layout())
                connection.execute("INSERT INTO model (name, dimensions, layout) VALUES (?, ?, ?)", values)
            _drop(connection, "name != ?", self._name)

    # ------------------------------------------------------------------------------------------- reading

    def query(
        self, vector: Vector, where: Filter, limit: int = 10, threshold: float = -1.0, *, exact: bool = False
    ) -> list[Hit]:
        wanted = unit(vector, "The query")
        checked(where)
        picture = self._newest()
        if picture is None:
            return []
        same_dimensions(wanted, picture.matrix.shape[1], self._name)
        return picture.best(wanted, where, limit, threshold, exact=exact)

    def fetch(self, where: Filter) -> list[Row]:
        if where.items is not None and self._picture is not None:  # a process that searches has them in memory
            checked(where)
            picture = self._newest()
            return picture.rows(where) if picture is not None else []
        condition, values = _condition(checked(where))
        rows = self._database.rows(
            f"SELECT {', '.join('row.' + column for column in COLUMNS)}, vector.vector"
            " FROM row CROSS JOIN vector ON vector.model = row.model AND vector.slot = row.slot"
            f" WHERE {condition} ORDER BY row.kind, row.item, row.window",
            (self._name, *values),
        )
        return [
            Row(vector=np.frombuffer(row[-1], "<f4").astype(np.float32), **dict(zip(COLUMNS, row, strict=False)))
            for row in rows
        ]

    def count(self, where: Filter | None = None) -> int:
        condition, values = _condition(checked(where or Filter()))
        found: int = self._database.row(f"SELECT count(*) FROM row WHERE {condition}", (self._name, *values))[0]
        return found

    def close(self) -> None:
        self._picture = None
        self._database.close()

    # ----------------------------------------------------------------------------------------- snapshots

    def _newest(self) -> Picture | None:
        """Return a snapshot of the current rows, or None if the model has none."""
        with self._lock, self._database.snapshot() as connection:
            found = connection.execute(
                "SELECT key, layout, dimensions, slots, gone FROM model WHERE name = ?", (self._name,)
            ).fetchone()
            if found is None:
                self._state, self._picture = ("", 0, 0, 0), None
                return None
            model, *state = found
            if tuple(state) != self._state or self._picture is None:
                self._picture = self._next_picture(connection, model, *state)
                self._state = tuple(state)
            return self._picture

    def _next_picture(
        self, connection: sqlite3.Connection, model: int, layout: str, dimensions: int, slots: int, gone: int
    ) -> Picture:
        """Return a snapshot of the rows. Build it from the former one, and read only new rows, if the layout is the
        same."""
        former, known, known_gone = self._picture, self._state[2], self._state[3]
        if former is None or layout != self._state[0]:
            former, known, known_gone = None, 0, 0
            self._growing = {name: Growing() for name in (*ATTRIBUTES, *NUMBERS)}
        vocabulary = former.vocabulary if former else Vocabulary()
        new, alive = _read_columns(connection, model, known, slots, vocabulary)
        columns = {
            name: self._growing[name].extended(former.columns[name] if former else None, new[name]) for name in new
        }
        if former:
            alive = np.concatenate([former.alive, alive])
        left = connection.execute("SELECT slot FROM gone WHERE model = ? AND n > ?", (model, known_gone)).fetchall()
        alive[[slot for (slot,) in left]] = False

        def read(start: int) -> Iterator[tuple[int, bytes]]:
            return connection.execute("SELECT slot, vector FROM vector WHERE model = ? AND slot >= ?", (model, start))

        matrix = np.asarray(self._file.map(layout, dimensions, slots, read))  # a memmap is slower to index
        return Picture(matrix, columns, alive, vocabulary, former.codes_made() if former else None)


def _read_columns(
    connection: sqlite3.Connection, model: int, first: int, slots: int, vocabulary: Vocabulary
) -> tuple[dict[str, Column], npt.NDArray[np.bool_]]:
    """Return the columns of the slots from ``first`` on, and which of these have a row. Words that are new get numbers."""
    columns = {name: np.full(slots - first, -1, np.int32) for name in (*ATTRIBUTES, *NUMBERS)}
    alive = np.zeros(slots - first, np.bool_)
    rows = connection.execute(
        f"SELECT slot, {', '.join(ATTRIBUTES)}, {', '.join(NUMBERS)} FROM row WHERE model = ? AND slot >= ?"
        " ORDER BY slot",
        (model, first),
    )
    while some := rows.fetchmany(ROWS_READ):
        held, *values = zip(*some, strict=True)
        at = np.array(held) - first
        alive[at] = True
        for name, column in zip(ATTRIBUTES, values, strict=False):
            columns[name][at] = vocabulary.codes(column)
        for name, column in zip(NUMBERS, values[len(ATTRIBUTES) :], strict=True):
            columns[name][at] = column
    return columns, alive


def _condition(where: Filter) -> tuple[str, list[Any]]:
    """Return an SQL condition, and its values, for the rows of one model that pass. The model's name is the first
    parameter."""
    given = {"kind": where.kind, "ontology": where.ontology, **where.equal}
    parts = ["row.model = (SELECT key FROM model WHERE name = ?)"]
    parts += [f"row.{name} = ?" for name, value in given.items() if value]
    values: list[Any] = [value for value in given.values() if value]
    for name, words in (("item", where.items), ("doc_id", where.doc_ids)):
        if words is not None:
            parts.append(f"row.{name} IN (SELECT value FROM json_each(?))")
            values.append(json.dumps(sorted(words)))
    return " AND ".join(parts), values


def _drop(connection: sqlite3.Connection, condition: str, name: str) -> None:
    """Delete the models that meet the condition, with all their rows."""
    for (model,) in connection.execute(f"SELECT key FROM model WHERE {condition}", (name,)).fetchall():
        for table in ("gone", "vector", "row"):
            connection.execute(f"DELETE FROM {table} WHERE model = ?", (model,))
        connection.execute("DELETE FROM model WHERE key = ?", (model,))


def _vacate(connection: sqlite3.Connection, model: int, key: Sequence[Any]) -> None:
    """Delete the row with this key, and record its slot as vacant."""
    found = connection.execute(
        "DELETE FROM row WHERE model = ? AND kind = ? AND item = ? AND window = ? RETURNING slot", (model, *key)
    ).fetchall()
    for (slot,) in found:
        connection.execute("DELETE FROM vector WHERE model = ? AND slot = ?", (model, slot))
        connection.execute("UPDATE model SET gone = gone + 1 WHERE key = ?", (model,))
        connection.execute("INSERT INTO gone SELECT key, gone, ? FROM model WHERE key = ?", (slot, model))


def _compact(connection: sqlite3.Connection, model: int) -> None:
    """Make a new layout if enough slots are vacant."""
    slots, gone = connection.execute("SELECT slots, gone FROM model WHERE key = ?", (model,)).fetchone()
    if gone >= COMPACT_FROM and 2 * gone >= slots:
        _renumber(connection, model)


def _renumber(connection: sqlite3.Connection, model: int) -> None:
    """Make a new layout, in which the rows keep their order and have the slots from 0 on."""
    rows = connection.execute("SELECT slot FROM row WHERE model = ? ORDER BY slot", (model,)).fetchall()
    # Each row moves to its own or a lower slot, in ascending order, so no two rows ever share a slot.
    moves = [(new, model, old) for new, (old,) in enumerate(rows) if new != old]
    connection.executemany("UPDATE row SET slot = ? WHERE model = ? AND slot = ?", moves)
    connection.executemany("UPDATE vector SET slot = ? WHERE model = ? AND slot = ?", moves)
    connection.execute("DELETE FROM gone WHERE model = ?", (model,))
    connection.execute(
        "UPDATE model SET layout = ?, slots = ?, gone = 0 WHERE key = ?", (_new_layout(), len(rows), model)
    )


def _new_layout() -> str:
    """Return a random name for a layout."""
    return secrets.token_hex(8)
