"""The graph in one SQLite file.

A document version is staged in bounded batches (:meth:`Graph.stage`) that no reader sees. One small transaction
(:meth:`Graph.publish`) then makes the version visible and removes the documents that it supersedes. A reader sees
the version before or the version after, never both and never neither. Each publication and each forgetting raises
the epoch by one.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from kgfs.config import Config
from kgfs.domain.documents import INGEST_VERSIONS
from kgfs.errors import NoSpaceError, StoreError
from kgfs.stores.database import Database, remove_database
from kgfs.stores.graph.joined import join
from kgfs.stores.graph.reading import GraphReads
from kgfs.stores.graph.rows import LEAVING, STAGED
from kgfs.stores.graph.vocabulary import (
    Batch,
    DocumentContent,
    Fault,
    Joining,
    Mark,
    Publication,
    Redaction,
    RelationshipRow,
)
from kgfs.stores.graph.word_source import WordSource
from kgfs.stores.locks import take

if TYPE_CHECKING:
    from tempfile import TemporaryDirectory

    from kgfs.stores.graph.commit import Commit
    from kgfs.stores.words.index import WordIndex
    from kgfs.stores.words.scoring import WordView

REMEDY = "The graph is derived: 'kgfs rebuild' makes it again."
ROWS_BATCH = 500
"""Rows staged in one transaction outside of publications, so that other writers wait only briefly for the lock."""
REMOVED_BATCH = 10_000
"""Rows removed in one transaction. Removing a row is faster than writing one (0.2 s for all of these), and each
transaction adds a segment to the full-text index."""

PAGES_MERGED = 64
"""Pages of the full-text index that one transaction merges. With the log this takes four times as many bytes as
the pages have."""


class Graph(GraphReads):
    """The documents, sources, evidence, concepts and relationships of all ontologies of a home.

    Reads are *quick* (each uses an index) and return the state of the newest epoch. Any number of threads and
    processes may read at the same time. Lists are ordered by their key and paged: ``after`` is the last key of the
    previous page.

    Each write is atomic, and durable when it returns. :meth:`stage`, :meth:`abandon` and :meth:`note_followed` are
    exceptions: a power failure may undo them, and the caller then repeats them. Any method may raise StoreError
    when the store fails. After such an error :meth:`published` tells whether the commit was carried out
    nevertheless, and repeating the call is harmless. ``at`` is a Unix time in nanoseconds.

    Without ``path`` it is a temporary graph that close() removes. What only writers need is imported by the methods that
    write: most processes read."""

    def __init__(self, path: Path | None = None) -> None:
        self._folder: TemporaryDirectory[str] | None = None
        if path is None:
            from tempfile import TemporaryDirectory

            self._folder = TemporaryDirectory(prefix="kgfs-graph-")
            path = Path(self._folder.name) / "graph.sqlite"
        schema = Path(__file__).with_name("schema.sql").read_text("utf-8")
        super().__init__(Database(path, schema, REMEDY))
        _keep_history(self._database)
        self._where = path
        self._aside: int | None = None
        """The file descriptor of the lock of a graph that is built beside another; None for other graphs."""
        self._asked = threading.Lock()
        self._seen = self._state()
        self._words: WordIndex | None = None
        with suppress(NoSpaceError):  # they are not shown; the next opening removes them
            self._remove_left()

    # ---------------------------------------------------------------------------------------------- words

    def word_view(self) -> WordView | None:
        """Return the index of words, as of now; None while it lacks so many Sources that only :meth:`find_text` has
        them all. The index is derived from the graph's Sources, in files beside it."""
        return self._word_index().view()

    def words_indexed(self) -> bool:
        """Return whether the files of the index of words have all Sources of now. Quick while nothing changes."""
        return self._word_index().is_current()

    def index_words(self, go_on: Callable[[], bool] = lambda: True) -> bool:
        """Bring the files of the index of words up to date, and return whether they are. Takes as long as there is to
        index; ``go_on`` is asked between batches and ends the work by False. False, too, where another process is at
        it."""
        return self._word_index().refresh(go_on)

    def faults(self) -> list[Fault]:
        """Return the rows that do not fit together, for ``kgfs check``. Scans all tables. While commits run, it
        may report the intermediate state of a commit; such a fault does not show in a second scan."""
        found = super().faults()
        wrong = self._word_index().fault() if self._words_folder.exists() else ""
        return [*found, Fault("words", wrong)] if wrong else found

    def _word_index(self) -> WordIndex:
        from kgfs.stores.words.index import WordIndex  # imports numpy, which a mount needs only to search

        with self._asked:
            if self._words is None:
                self._words = WordIndex(self._words_folder, WordSource(self._database))
            return self._words

    @property
    def _words_folder(self) -> Path:
        return self._where.with_name(f"words{self._where.name.removeprefix('graph.sqlite')}")

    # ------------------------------------------------------------------------------------------- writing

    def stage(self, commit_id: str, document: str, batch: Batch) -> None:
        """Store rows of document ``document`` under ``commit_id``; the rows stay invisible until the commit is
        published. Staging the same row twice is harmless. The call does nothing if ``commit_id`` was published
        already."""
        from kgfs.stores.graph.editions import open_edition, put_sources
        from kgfs.stores.graph.kinds import KINDS

        if self.published(commit_id) is not None:
            return
        for start in range(0, max(len(batch.sources), 1), ROWS_BATCH):
            with self._database.write(durable=False) as connection:
                edition = open_edition(connection, document, commit_id)
                put_sources(connection, edition, batch.sources[start : start + ROWS_BATCH], batch.document)
        for table, rows in batch.rows.items():
            put = KINDS[table].put
            assert put is not None, f"rows of {table} are not staged"
            for start in range(0, len(rows), ROWS_BATCH):
                with self._database.write(durable=False) as connection:
                    edition = open_edition(connection, document, commit_id)
                    put(connection, edition, batch.document, rows[start : start + ROWS_BATCH])

    def publish(self, publication: Publication) -> int:
        """Make all rows staged under the commit id visible and return the new epoch. A commit id that was
        published before changes nothing, and the epoch of that publication is returned. If the document is already
        visible under another commit, its former rows leave, as those of a superseded document do.

        Raises BadInputError when evidence was staged for an owner that the publication does not name, or when a
        relationship joins a concept that the publication does not mention. Raises StoreError when a directory name
        belongs or ever belonged to another concept, or when an evidence number belongs to living evidence of
        another document. After an error nothing has changed."""
        from kgfs.stores.graph.commit import Commit
        from kgfs.stores.graph.editions import open_edition

        doc_id = publication.document.doc_id

        def made(connection: sqlite3.Connection) -> Commit:
            edition = open_edition(connection, doc_id, publication.commit_id)
            commit = Commit(connection, publication.at, self.page)
            commit.leave([doc_id, *publication.supersedes])
            commit.enter(edition, publication)
            return commit

        epoch = self._once(publication.commit_id, "publish", publication.at, made)
        self._remove_left()
        return epoch

    def _once(self, commit_id: str, kind: str, at: int, made: Callable[[sqlite3.Connection], Commit]) -> int:
        """Settle the commit that ``made`` makes, in one transaction, and return its epoch; repeating a commit id changes nothing."""
        with self._database.write(durable=True) as connection:
            known = connection.execute('SELECT epoch FROM "commit" WHERE commit_id = ?', (commit_id,)).fetchone()
            if known:
                return int(known[0])
            epoch = made(connection).settle()
            connection.execute('INSERT INTO "commit" VALUES (?, ?, ?, ?)', (commit_id, epoch, kind, at))
        return epoch

    def abandon(self, commit_id: str) -> None:
        """Delete the rows that were staged under ``commit_id`` and not published. Harmless if there are none."""
        self._database.removing(lambda: self._abandon(commit_id))

    def _abandon(self, commit_id: str) -> None:
        with self._database.write(durable=False) as connection:
            connection.execute(
                f"UPDATE document SET state = {LEAVING} WHERE commit_id = ? AND state = {STAGED}", (commit_id,)
            )
        self._remove_left()

    def forget(self, commit_id: str, doc_ids: Sequence[str], at: int, concepts: Sequence[str] = ()) -> int:
        """Remove documents with their sources, instances and mentions, then the relationships and concepts that
        have no evidence left (cascade=orphans). This is one transaction; its cost grows with the number of rows
        removed. Unknown documents are skipped. Returns the new epoch; repeating a commit id changes nothing.

        The concepts with the ids ``concepts`` are removed too (cascade=all), with their relationships and with the
        evidence that other documents give for either. Those other documents stay visible, and the feed reports
        them as changed."""
        return self._database.removing(lambda: self._forget(commit_id, doc_ids, at, concepts))

    def _forget(self, commit_id: str, doc_ids: Sequence[str], at: int, concepts: Sequence[str]) -> int:
        from kgfs.stores.graph.cascade import Cascade

        def made(connection: sqlite3.Connection) -> Commit:
            commit = Cascade(connection, at, self.page)
            commit.leave(doc_ids)
            commit.strike(concepts)
            return commit

        epoch = self._once(commit_id, "forget", at, made)
        self._remove_left()
        return epoch

    def reassign(
        self,
        commit_id: str,
        contents: Sequence[DocumentContent],
        at: int,
        marks: Sequence[Mark] = (),
        unmarked: Sequence[Mark] = (),
        joined: Sequence[Joining] = (),
        parted: Sequence[str] = (),
        became: Sequence[tuple[str, str]] = (),
        looked: tuple[Sequence[str], str] = ((), ""),
    ) -> int:
        """Replace what documents say of concepts: each :class:`DocumentContent` takes the place of all mentions and
        evidence of its document. Merging and splitting concepts are done by this call. ``marks`` are added and ``unmarked``
        are deleted; ``joined`` are recorded, and the joinings of the concepts ``parted`` deleted. This is one transaction;
        its cost grows with what changes. Evidence that is equal to before
        keeps its mtime. A concept that loses its last evidence is removed, and its name is never given to another
        concept. Documents that are not visible are skipped. ``became`` are (former id, id) of concepts: documents that
        only name the former one name the other from now on. ``looked`` is as in :meth:`look_further`. Returns the new epoch; repeating a commit id changes
        nothing. Raises the errors of ``publish``."""
        from kgfs.stores.graph.merging import Reassignment, set_marks

        def made(connection: sqlite3.Connection) -> Commit:
            commit = Reassignment(connection, at, self.page)
            for one in contents:
                commit.say(one)
            commit.rename(became)
            commit.part(parted)
            commit.look_further(*looked)
            set_marks(connection, marks, unmarked)
            join(connection, joined, parted)
            return commit

        return self._once(commit_id, "reassign", at, made)

    def mark_claim(self, commit_id: str, ontology: str, claim_id: str, into: str, at: int) -> int:
        """Make all evidence of a claim, also what is to come, that of the claim ``into``; where that is '', make the evidence of
        each document a claim of its own. Returns the new epoch; repeating a commit id changes nothing."""
        from kgfs.stores.graph.commit import Commit

        def made(connection: sqlite3.Connection) -> Commit:
            commit = Commit(connection, at, self.page)
            commit.mark_claim(ontology, claim_id, into)
            return commit

        return self._once(commit_id, "claim", at, made)

    def look_further(self, concept_ids: Sequence[str], after: str) -> None:
        """Note that places of these concepts were looked for in the documents up to ``after``, or in all where it is ''.

        A power failure may lose the note; then the same documents are looked through again."""
        from kgfs.stores.graph.merging import look_further

        with self._database.write(durable=False) as connection:
            look_further(connection, concept_ids, after)

    def redact(
        self, concepts: Sequence[str], relationships: Sequence[RelationshipRow], doc_ids: Sequence[str] = ()
    ) -> Redaction:
        """Erase the traces of purged documents, after the documents that concern these concepts and relationships
        have been removed for good. The directory names of the dead ones among ``concepts`` are replaced by hashes,
        and are still never given to another concept. What is known of the earlier Text of the documents ``doc_ids`` is
        deleted. The change feed is discarded: ``changes`` returns None to
        each reader that is behind. Every trace of removed rows is erased from the files. Blocks for long, because
        the whole file is rewritten or, on a disk without the space for that, read and overwritten in place.
        Idempotent. Raises BusyError when other processes read without a pause."""
        redaction = self._database.removing(lambda: self._redact(concepts, relationships, doc_ids))
        if self._words_folder.exists():
            self._word_index().erase()
        self._merge_words()
        self._database.scrub()
        return redaction

    def _redact(
        self, concepts: Sequence[str], relationships: Sequence[RelationshipRow], doc_ids: Sequence[str]
    ) -> Redaction:
        from kgfs.stores.graph.cascade import redact
        from kgfs.stores.graph.merging import forget_earlier

        with self._database.write(durable=True) as connection:
            forget_earlier(connection, doc_ids)
            return redact(connection, concepts, relationships)

    def _merge_words(self) -> None:
        """Remove every word of removed rows from the full-text index, whose segments keep deleted words until they
        are merged. Merges in small steps, because merging all at once would need disk space for a second index."""
        merged = self._database.removing(lambda: self._merge_some(-PAGES_MERGED))
        while merged:
            merged = self._database.removing(lambda: self._merge_some(PAGES_MERGED))

    def _merge_some(self, pages: int) -> bool:
        """Merge up to ``pages`` pages of the full-text index. Return whether there was anything to merge
        (https://www.sqlite.org/fts5.html#the_merge_command)."""
        with self._database.write(durable=False) as connection:
            before = connection.total_changes
            connection.execute("INSERT INTO source_words (source_words, rank) VALUES ('merge', ?)", (pages,))
            return connection.total_changes - before >= 2

    def impose(self, redaction: Redaction) -> None:
        """Apply the redaction of an earlier purge. A rebuild calls this in place of publishing and forgetting the
        purged documents."""
        from kgfs.stores.graph.cascade import impose

        with self._database.write(durable=True) as connection:
            impose(connection, redaction)

    def clear(self) -> None:
        """Delete everything, the epoch included. ``rebuild`` begins with this."""
        from kgfs.stores.graph.merging import empty

        with self._database.write(durable=True) as connection:
            empty(connection)

    def aside(self) -> Graph:
        """Return an empty graph stored beside this one, to be filled and then adopted. Only one can exist at a
        time: what is left of an earlier one is deleted. Closing the returned graph deletes it."""
        return build_aside(built_beside(self._where))

    def adopt(self, built: Graph, ontology: str = "") -> int:
        """Replace the content of this graph by that of ``built``, a graph made by :meth:`aside`; with
        ``ontology``, replace the content of that ontology only. This is one transaction: readers see the former
        content or the new one, and may read during the call. Commit ids that were published in ``built`` count as
        published here. When everything is replaced, :meth:`followed` also takes the value of ``built``. Returns
        the epoch, which is higher than any epoch before. ``changes`` returns None for epochs before it."""
        from kgfs.stores.graph.adopting import BUILT, adopt

        self._database.shorten_log()
        with self._database.attached(built._where, BUILT), self._database.write(durable=True) as connection:
            epoch = adopt(connection, ontology)
        if self._words_folder.exists():
            self._word_index().discard()
        self._database.shorten_log()
        return epoch

    def whole(self) -> AbstractContextManager[sqlite3.Connection]:
        """Return a context with a connection that reads one snapshot of all rows, for a caller that copies them
        elsewhere."""
        return self._database.snapshot()

    def _remove_left(self) -> None:
        """Delete the rows of editions in state LEAVING, in bounded transactions. After a kill the next call
        continues."""
        while self._database.row(f"SELECT 1 FROM document WHERE state = {LEAVING} LIMIT 1"):
            from kgfs.stores.graph.merging import remove_some

            with self._database.write(durable=False) as connection:
                remove_some(connection, REMOVED_BATCH)

    # ------------------------------------------------------------------------------------------- polling

    def changed(self) -> bool:
        """Return whether any process has committed since the previous call on this object. For polling."""
        with self._asked:
            state = self._state()
            moved = state != self._seen
            self._seen = state
            return moved

    def _state(self) -> list[tuple[int]]:
        found = self._database.rows("SELECT value FROM meta WHERE name IN ('epoch', 'clears') ORDER BY name")
        if len(found) != 2:
            raise StoreError(f"The graph has lost its epoch. {REMEDY}")
        return found

    def close(self) -> None:
        """Close the graph's connections. No other thread may be using the graph. A temporary graph, and one made
        by :meth:`aside`, is deleted."""
        self._database.close()
        if self._aside is not None:
            remove_database(self._where)
            os.close(self._aside)
            self._aside = None
        if self._folder:
            self._folder.cleanup()


def _keep_history(database: Database) -> None:
    """Write the description of each ingest version into the table that tells readers of the file the history of the ingest
    logic. Writes only rows that differ, so that opening a graph is quick."""
    found = {
        row[0]: tuple(row[1:])
        for row in database.rows("SELECT version, description, breaking_changes FROM ingest_version")
    }
    missing = [
        (number, version.description, int(version.breaking))
        for number, version in INGEST_VERSIONS.items()
        if found.get(number) != (version.description, int(version.breaking))
    ]
    if missing:
        with database.write(durable=False) as connection:
            connection.executemany(
                "INSERT INTO ingest_version (version, description, breaking_changes) VALUES (?, ?, ?)"
                " ON CONFLICT (version) DO UPDATE SET description = excluded.description,"
                " breaking_changes = excluded.breaking_changes",
                missing,
            )


def built_beside(path: Path) -> Path:
    """Return the path at which a graph is built that will replace the one at ``path``."""
    return path.with_name(f"{path.name}.new")


def build_aside(path: Path | None) -> Graph:
    """Create an empty graph at ``path``, deleting any file there; close() removes it. Without ``path`` it is a
    temporary graph."""
    if path is None:
        return Graph()
    held = _taken_anew(path)
    try:
        graph = Graph(path)
    except BaseException:
        os.close(held)
        raise
    graph._aside = held
    return graph


def _taken_anew(path: Path) -> int:
    """Create a new, locked file and return its descriptor. The lock lasts while the descriptor is open and tells
    other processes that the builder lives."""
    while True:
        remove_database(path)
        held = take(path)
        if held is None:
            continue
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(held), path.stat()):
                return held
        os.close(held)  # another process deleted the file, as that of a killed builder, before it was locked


def open_graph(config: Config) -> Graph:
    """Open the graph in the home's own file, creating the file if it is missing. Asks no server."""
    return Graph(config.graph_db)
