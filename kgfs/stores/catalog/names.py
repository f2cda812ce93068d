"""Query names, versions and documents. Every query is a walk along an index, but for those whose promise says otherwise."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence

from kgfs.domain.documents import Document, Name, Ontology, State, Succession, Version
from kgfs.errors import MissingError
from kgfs.stores.catalog import forgetting, parts, path_states
from kgfs.stores.catalog.rows import (
    DOCUMENT,
    NAME,
    VERSION,
    Connect,
    Forgetting,
    PartRow,
    Row,
    SavedQuestion,
    SavedSearch,
    Trashed,
    document_from,
    name_from,
    version_from,
)

EVER = 2**63 - 1
"""A time in nanoseconds later than any other: a bound that excludes nothing."""

_NAMES_OF = (
    f"SELECT {', '.join(f'name.{column}' for column in NAME.split(', '))}"
    " FROM name JOIN version ON version.lineage = name.lineage AND version.n = name.version"
    " WHERE name.doc_id = ? AND name.doc_id != '' ORDER BY version.deposit"
)


class Names:
    """Queries about names, versions and documents. All are *quick*; a page of ``limit`` rows costs in proportion to
    the page. They run on the connection that ``connect`` returns: each thread's own for callers of the catalog, the
    writer's for checks."""

    def __init__(self, connect: Connect) -> None:
        self._connect = connect

    @property
    def _db(self) -> sqlite3.Connection:
        return self._connect()

    # ---------------------------------------------------------------------------------------- ontologies

    def ontologies(self) -> list[Ontology]:
        """Return the live ontologies in order of name."""
        rows = self._db.execute("SELECT id, name, prefix, root, made_at FROM ontology ORDER BY name").fetchall()
        return [self._with_settings(row) for row in rows]

    def ontology(self, ontology_id: str) -> Ontology | None:
        """Return a live ontology by its id."""
        return self._ontology("id", ontology_id)

    def ontology_named(self, name: str) -> Ontology | None:
        """Return a live ontology by its name."""
        return self._ontology("name", name)

    def removed_ontologies(self) -> list[Ontology]:
        """Return the removed ontologies as they were when they were removed, by id. Their trash and their Documents
        outlive them."""
        rows = self._db.execute("SELECT id, name, prefix, root, made_at FROM removed_ontology ORDER BY id").fetchall()
        return [self._with_settings(row) for row in rows]

    def _ontology(self, column: str, value: str) -> Ontology | None:
        sql = f"SELECT id, name, prefix, root, made_at FROM ontology WHERE {column} = ?"
        row = self._db.execute(sql, (value,)).fetchone()
        return self._with_settings(row) if row else None

    def _with_settings(self, row: Row) -> Ontology:
        values = [*row, self.settings(row[0])]
        return Ontology(*values)

    def settings(self, ontology_id: str = "") -> Mapping[str, str]:
        """Return the settings of an ontology or, without one, of the store."""
        return dict(self._db.execute("SELECT key, value FROM setting WHERE ontology = ?", (ontology_id,)).fetchall())

    def saved_searches(self, ontology_id: str = "") -> list[SavedSearch]:
        """Return the saved searches of an ontology or, without one, of the mount's root, in order of words."""
        sql = "SELECT words, saved_at FROM search WHERE ontology = ? ORDER BY words"
        return [SavedSearch(*row) for row in self._db.execute(sql, (ontology_id,)).fetchall()]

    def saved_questions(self, ontology_id: str = "") -> list[SavedQuestion]:
        """Return the saved questions of an ontology or, without one, of the mount's root, in order."""
        sql = "SELECT question, saved_at FROM question WHERE ontology = ? ORDER BY question"
        return [SavedQuestion(*row) for row in self._db.execute(sql, (ontology_id,)).fetchall()]

    # --------------------------------------------------------------------------------------------- names

    def name(self, name_id: int) -> Name | None:
        """Return a live name; None once it is removed or in the trash."""
        row = self._db.execute(f"SELECT {NAME} FROM name WHERE id = ?", (name_id,)).fetchone()
        return name_from(row) if row else None

    def child(self, parent: int, name: str) -> Name | None:
        """Return the live entry of a folder by its name."""
        sql = f"SELECT {NAME} FROM name WHERE parent = ? AND name = ? AND parent != 0"
        row = self._db.execute(sql, (parent, name)).fetchone()
        return name_from(row) if row else None

    def children(self, parent: int, after: str = "", limit: int = 1000) -> list[Name]:
        """Return live entries of a folder whose name is greater than ``after``, in order of name (by code point)."""
        sql = f"SELECT {NAME} FROM name WHERE parent = ? AND name > ? AND parent != 0 ORDER BY name LIMIT ?"
        return [name_from(row) for row in self._db.execute(sql, (parent, after, limit)).fetchall()]

    def resolve(self, ontology_id: str, path: str) -> Name | None:
        """Return the live name at a path like ``a/b/c`` below documents/; ``''`` is documents/ itself. None if there
        is none."""
        row = self._db.execute("SELECT root FROM ontology WHERE id = ?", (ontology_id,)).fetchone()
        if row is None:
            return None
        found = self.name(row[0])
        for part in path.split("/") if path else ():
            found = self.child(found.id, part) if found else None
        return found

    def path(self, name_id: int) -> str | None:
        """Return the path below documents/; None if the name, or a folder above it, is not live."""
        return path_states.path_of(self._db, name_id)

    def names_of(self, doc_id: str) -> list[Name]:
        """Return the live files whose newest version is this Document, in order of that version's deposit."""
        return [name_from(row) for row in self._db.execute(_NAMES_OF, (doc_id,)).fetchall()]

    def called(self, spellings: Sequence[str], ontologies: Sequence[str], limit: int) -> list[Name]:
        """Return live files of these ontologies that are documents and are called by one of these names (encoded), with or without an
        ending, in order of their ids; ``limit`` at most. One scan of the names."""
        is_called = " OR ".join(
            f"name COLLATE NOCASE = ?{at} OR (name COLLATE NOCASE > ?{at} || '.' AND name COLLATE NOCASE < ?{at} || '/')"
            for at in range(3, len(spellings) + 3)
        )
        sql = (
            f"SELECT {NAME} FROM name NOT INDEXED WHERE doc_id != '' AND ({is_called})"
            " AND ontology IN (SELECT value FROM json_each(?1)) ORDER BY id LIMIT ?2"
        )
        rows = self._db.execute(sql, (json.dumps([*ontologies]), limit, *spellings)).fetchall()
        return [name_from(row) for row in rows]

    def placed(self, ontology_id: str) -> list[tuple[str, str, int]]:
        """Return (doc_id, path below documents/, mtime) of each live file that is a document. One scan of the names: for many
        documents much faster than :meth:`names_of` for each."""
        rows = self._db.execute(
            "SELECT id, parent, name, doc_id, mtime FROM name WHERE ontology = ? ORDER BY id", (ontology_id,)
        ).fetchall()
        above = {name_id: (parent, name) for name_id, parent, name, *_ in rows}
        paths: dict[int, str | None] = {}

        def path(name_id: int) -> str | None:
            if name_id not in paths:
                parent, name = above.get(name_id, (-1, ""))
                folder = "" if parent <= 0 else path(parent)
                paths[name_id] = (
                    None if parent < 0 or folder is None else f"{folder}{'/' * bool(folder)}{name * (parent > 0)}"
                )
            return paths[name_id]

        files = [(doc_id, path(name_id), mtime) for name_id, _, _, doc_id, mtime in rows if doc_id]
        return [(doc_id, found, mtime) for doc_id, found, mtime in files if found is not None]

    def all_parts(self) -> list[tuple[str, str, str]]:
        """Return (child, parent, name) of all parts that a parent holds (:meth:`part_of`). One scan of the parts."""
        return parts.all_held(self._db)

    def held(self, doc_id: str) -> bool:
        """Return whether a live file has the Document, or a parent that is held itself."""
        return parts.held(self._db, doc_id)

    def parts(self, doc_id: str, after: int = 0, limit: int = -1) -> list[PartRow]:
        """Return the parts of a Document behind number ``after``, in order. A ``limit`` below 0 returns all."""
        sql = f"SELECT {parts.PART} FROM part WHERE parent = ? AND n > ? ORDER BY n LIMIT ?"
        return [PartRow(*row) for row in self._db.execute(sql, (doc_id, after, limit)).fetchall()]

    def part(self, doc_id: str, name: str) -> PartRow | None:
        """Return the part of a Document that has this name."""
        row = self._db.execute(
            f"SELECT {parts.PART} FROM part WHERE parent = ? AND name = ?", (doc_id, name)
        ).fetchone()
        return PartRow(*row) if row else None

    def part_of(self, doc_id: str, *, held: bool = True) -> list[PartRow]:
        """Return the places at which the Document is a part of parents that hold it, those of its first parent
        first; unless ``held``, of all parents."""
        if not held:
            sql = f"SELECT {parts.PART} FROM part WHERE child = ? AND child != '' ORDER BY parent, n"
            return [PartRow(*row) for row in self._db.execute(sql, (doc_id,)).fetchall()]
        return [PartRow(*row) for row in parts.holders(self._db, doc_id)]

    def first_found_in(self, doc_ids: Sequence[str]) -> list[str]:
        """Return the Documents that were first found as parts of one of these, whether or not they are parts still. Reads
        all Documents."""
        sql = "SELECT doc_id FROM document WHERE parent != '' AND parent IN (SELECT value FROM json_each(?)) ORDER BY doc_id"
        return [doc_id for (doc_id,) in self._db.execute(sql, (json.dumps([*doc_ids]),)).fetchall()]

    def unsettled(
        self, *, session: str | None = None, quiet_before: int = EVER, or_after: int = EVER, alive: Sequence[str] = ()
    ) -> list[Name]:
        """Return the unsettled names that last changed at or before ``quiet_before``, or later than ``or_after``: all by
        default.

        With ``session``, only names that this session touched last. Without it, only names that were last touched by
        a session that is not in ``alive`` (its process is dead, or the fact had no session)."""
        sessions = [session] if session is not None else list(alive)
        whose = f"session {'IN' if session is not None else 'NOT IN'} ({', '.join('?' * len(sessions))})"
        sql = f"SELECT {NAME} FROM name WHERE settled = 0 AND touched_at %s ? AND {whose} ORDER BY touched_at, id"
        rows = self._db.execute(sql % "<=", (quiet_before, *sessions)).fetchall()
        if or_after < EVER:
            rows += self._db.execute(sql % ">", (max(or_after, quiet_before), *sessions)).fetchall()
        return [name_from(row) for row in rows]

    def arriving(self, ontology_id: str, sha256: str) -> bool:
        """Return whether an unsettled file of the ontology has these bytes. Such a file may become a name of their
        Document."""
        sql = "SELECT 1 FROM name INDEXED BY name_unsettled WHERE settled = 0 AND ontology = ? AND sha256 = ? LIMIT 1"
        return self._db.execute(sql, (ontology_id, sha256)).fetchone() is not None

    def unsettled_count(self) -> int:
        """Return the number of unsettled names."""
        count: int = self._db.execute("SELECT count(*) FROM name WHERE settled = 0").fetchone()[0]
        return count

    # ------------------------------------------------------------------------------ versions, documents

    def lineage_for(self, name_id: int) -> tuple[int, int]:
        """Return (lineage, n) of the version that would be minted now for a live file: the ``n`` that its
        VersionMinted must carry.

        A file without versions of its own continues the lineage that last left its place, if the lineage's holder was
        removed, was moved aside (to a name that is no document's), or left at most five seconds before this file
        came. Raises MissingError if there is no such file."""
        found = path_states.next_version(self._db, name_id)
        if found is None:
            raise MissingError(f"No live file has the id {name_id}.")
        return found

    def versions(self, name_id: int) -> list[Version]:
        """Return the versions of the path's lineage in order of n. Works for names in the trash too."""
        sql = (
            f"SELECT {VERSION} FROM version WHERE lineage = coalesce((SELECT lineage FROM name WHERE id = ?1),"
            " (SELECT lineage FROM trash WHERE id = ?1)) ORDER BY n"
        )
        return [version_from(row) for row in self._db.execute(sql, (name_id,)).fetchall()]

    def _holder(self, lineage: int) -> Name | None:
        row = self._db.execute(f"SELECT {NAME} FROM name WHERE lineage = ? AND lineage != 0", (lineage,)).fetchone()
        return name_from(row) if row else None

    def version_of(self, doc_id: str) -> tuple[Version, Name | None] | None:
        """Return the newest version that was this Document, with the live name that continues its lineage now, if
        any."""
        sql = f"SELECT {VERSION} FROM version WHERE doc_id = ? ORDER BY deposit DESC LIMIT 1"
        row = self._db.execute(sql, (doc_id,)).fetchone()
        if row is None:
            return None
        return version_from(row), self._holder(row[0])

    def succession(self, doc_id: str) -> list[Succession]:
        """Return each version that was this Document, in order of deposit, with the Documents before and behind it in
        the path's history."""
        beside = (
            "coalesce((SELECT other.doc_id FROM version AS other WHERE other.lineage = version.lineage"
            " AND other.n {} version.n ORDER BY other.n {} LIMIT 1), '')"
        )
        before, behind = beside.format("<", "DESC"), beside.format(">", "ASC")
        sql = f"SELECT {VERSION}, {before}, {behind} FROM version WHERE doc_id = ? ORDER BY deposit"
        return [Succession(version_from(row[:-2]), *row[-2:]) for row in self._db.execute(sql, (doc_id,)).fetchall()]

    def document(self, doc_id: str) -> Document | None:
        """Return a Document. Its ``state`` is working while a worker has claimed its ``read`` job. ``commit_id`` is
        empty while the graph does not show it; ``reading`` and ``decisions`` are kept then, for a revival."""
        row = self._db.execute(f"SELECT {DOCUMENT} FROM document WHERE doc_id = ?", (doc_id,)).fetchone()
        return document_from(row) if row else None

    def document_with(self, ontology_id: str, sha256: str) -> Document | None:
        """Return the Document of an ontology that has these bytes, the last deposited one if there are several."""
        sql = f"SELECT {DOCUMENT} FROM document WHERE ontology = ? AND sha256 = ? ORDER BY deposit DESC LIMIT 1"
        row = self._db.execute(sql, (ontology_id, sha256)).fetchone()
        return document_from(row) if row else None

    def documents(self, ontology_id: str, after: str = "", limit: int = 1000) -> list[Document]:
        """Return Documents with an id above ``after``, in order of doc_id."""
        sql = f"SELECT {DOCUMENT} FROM document WHERE ontology = ? AND doc_id > ? ORDER BY doc_id LIMIT ?"
        return [document_from(row) for row in self._db.execute(sql, (ontology_id, after, limit)).fetchall()]

    def newest(self, ontology_id: str, limit: int = 10) -> list[Document]:
        """Return the Documents that were deposited last, newest first."""
        sql = f"SELECT {DOCUMENT} FROM document WHERE ontology = ? ORDER BY deposit DESC LIMIT ?"
        return [document_from(row) for row in self._db.execute(sql, (ontology_id, limit)).fetchall()]

    def unread(self, ontology_id: str, limit: int = 10) -> list[Document]:
        """Return the documents of an ontology that could not be read (unsupported or failed), the newest first. Their
        ``reason`` says why."""
        sql = (
            f"SELECT {DOCUMENT} FROM document WHERE ontology = ? AND state IN ('failed', 'unsupported')"
            " ORDER BY deposit DESC LIMIT ?"
        )
        return [document_from(row) for row in self._db.execute(sql, (ontology_id, limit)).fetchall()]

    def predecessors(self, doc_id: str) -> list[str]:
        """Return the Documents that a publication of ``doc_id`` must take out of the graph.

        These are Documents shown by the graph that were an earlier version of a path whose newest version is
        ``doc_id``, and that are no live path's newest version any more; where ``doc_id`` is a segment of a transcript, the
        segments with its number in the transcript's earlier versions. Documents of other ontologies are left out: a
        Document that a path left behind in another ontology gets a ``forget`` job instead. Tombstones are left out
        too, since they stay."""
        # CROSS JOIN keeps SQLite to this order; SQLite does not know how few rows each step gives.
        sql = (
            "SELECT DISTINCT shown.doc_id FROM name"
            " CROSS JOIN shown ON shown.lineage = name.lineage"
            " CROSS JOIN document old ON old.doc_id = shown.doc_id"
            " WHERE name.doc_id = ?1 AND name.doc_id != '' AND shown.doc_id != ?1 AND old.ontology = name.ontology"
            " AND old.names = 0"
            " AND NOT EXISTS (SELECT 1 FROM name other WHERE other.doc_id = shown.doc_id AND other.doc_id != '')"
            " AND NOT EXISTS (SELECT 1 FROM tombstone WHERE tombstone.doc_id = shown.doc_id)"
        )
        found = {row[0] for row in self._db.execute(sql, (doc_id,)).fetchall()}
        return sorted(found | parts.replaced(self._db, doc_id, now=True))

    def counts(self, ontology_id: str = "") -> Mapping[State, int]:
        """Return the number of Documents by state, of one ontology or of all. Reads counters and does not scan the
        documents."""
        where = "ontology = ?1" if ontology_id else "?1 = ''"
        sql = (
            f"SELECT state, sum(documents) FROM tally WHERE {where} GROUP BY state UNION ALL"
            f" SELECT 'working', count(*) FROM job INDEXED BY job_working"
            f" WHERE state = 'working' AND kind = 'read' AND {where} AND EXISTS"
            " (SELECT 1 FROM document WHERE document.doc_id = job.doc_id AND document.state = 'queued')"
        )
        counted = {State(state): number for state, number in self._db.execute(sql, (ontology_id,)).fetchall()}
        counted[State.QUEUED] = counted.get(State.QUEUED, 0) - counted[State.WORKING]
        return {state: number for state, number in counted.items() if number}

    def any_read(self) -> bool:
        """Return whether any Document that is known here was ever published, shown by the graph or not. Purged
        Documents are not known. Scans the documents while none was published."""
        return bool(self._db.execute("SELECT EXISTS (SELECT 1 FROM document WHERE reading != '')").fetchone()[0])

    # -------------------------------------------------------------------------------- trash, forgetting

    def trash(self, after: int = 0, limit: int = 1000, removed_before: int = EVER) -> list[Trashed]:
        """Return removed files of all ontologies, also of removed ones, with an id above ``after`` and removed before
        ``removed_before``, in order of id."""
        sql = f"SELECT {forgetting.TRASHED} FROM trash WHERE id > ? AND at < ? ORDER BY id LIMIT ?"
        return [Trashed(*row) for row in self._db.execute(sql, (after, removed_before, limit)).fetchall()]

    def trashed(self, name_id: int) -> Trashed | None:
        """Return a removed file by the name id that it had."""
        row = self._db.execute(f"SELECT {forgetting.TRASHED} FROM trash WHERE id = ?", (name_id,)).fetchone()
        return Trashed(*row) if row else None

    def names_at(self, key: str) -> list[Name]:
        """Return the live files whose bytes are the garage's object ``key``, settled or not and whatever was decided
        about them, in order of id."""
        sql = f"SELECT {NAME} FROM name WHERE key = ? AND place = 'garage' ORDER BY id"
        return [name_from(row) for row in self._db.execute(sql, (key,)).fetchall()]

    def lineages(self, doc_id: str) -> list[int]:
        """Return the lineages that have this Document as a version, in order."""
        sql = "SELECT DISTINCT lineage FROM version WHERE doc_id = ? ORDER BY lineage"
        return [lineage for (lineage,) in self._db.execute(sql, (doc_id,)).fetchall()]

    def history(self, lineage: int) -> list[Version]:
        """Return the versions of a lineage in order of n."""
        sql = f"SELECT {VERSION} FROM version WHERE lineage = ? ORDER BY n"
        return [version_from(row) for row in self._db.execute(sql, (lineage,)).fetchall()]

    def forgettings(self) -> list[Forgetting]:
        """Return the forgettings that are decided and not carried out yet, oldest first."""
        return forgetting.owed(self._db)

    def forgettings_count(self) -> int:
        """Return the number of those forgettings. Quick, however many documents they name."""
        count: int = self._db.execute("SELECT count(*) FROM forgetting").fetchone()[0]
        return count

    def tombstoned(self, doc_id: str) -> bool:
        """Return whether the Document was forgotten with cascade ``none``: its knowledge stays, though no file has
        it."""
        return self._db.execute("SELECT 1 FROM tombstone WHERE doc_id = ?", (doc_id,)).fetchone() is not None

    def suppressed(self, concept_ids: Sequence[str], doc_id: str) -> frozenset[str]:
        """Return which of these concepts must not be brought back by this Document: those that were suppressed since
        the Document was last deposited. The ids are ``domain.identity.concept_id_of`` of a normalised form."""
        return forgetting.suppressed(self._db, concept_ids, doc_id)
