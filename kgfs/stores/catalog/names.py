"""Query names, versions and documents. Every query is a walk along an index, but for those whose promise says otherwise."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence

from kgfs.domain.documents import Document, Name, Ontology, State, Succession, Version
from kgfs.errors import MissingError
from kgfs.stores.catalog import forgetting, lineage, parts
from kgfs.stores.catalog.contract_names import Forgetting, PartRow, SavedQuestion, SavedSearch, Trashed
from kgfs.stores.catalog.rows import DOCUMENT, NAME, VERSION, Connect, Row, document_from, name_from, version_from

_NAMES_OF = (
    f"SELECT {', '.join(f'name.{column}' for column in NAME.split(', '))}"
    " FROM name JOIN version ON version.lineage = name.lineage AND version.n = name.version"
    " WHERE name.doc_id = ? AND name.doc_id != '' ORDER BY version.deposit"
)


class SqliteNames:
    """The contract's ``Names`` on the connection that ``connect`` returns: each thread's own for callers of the
    catalog, the writer's for checks."""

    def __init__(self, connect: Connect) -> None:
        self._connect = connect

    @property
    def _db(self) -> sqlite3.Connection:
        return self._connect()

    # ---------------------------------------------------------------------------------------- ontologies

    def ontologies(self) -> list[Ontology]:
        rows = self._db.execute("SELECT id, name, prefix, root, made_at FROM ontology ORDER BY name").fetchall()
        return [self._with_settings(row) for row in rows]

    def ontology(self, ontology_id: str) -> Ontology | None:
        return self._ontology("id", ontology_id)

    def ontology_named(self, name: str) -> Ontology | None:
        return self._ontology("name", name)

    def removed_ontologies(self) -> list[Ontology]:
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
        return dict(self._db.execute("SELECT key, value FROM setting WHERE ontology = ?", (ontology_id,)).fetchall())

    def saved_searches(self, ontology_id: str = "") -> list[SavedSearch]:
        sql = "SELECT words, saved_at FROM search WHERE ontology = ? ORDER BY words"
        return [SavedSearch(*row) for row in self._db.execute(sql, (ontology_id,)).fetchall()]

    def saved_questions(self, ontology_id: str = "") -> list[SavedQuestion]:
        sql = "SELECT question, saved_at FROM question WHERE ontology = ? ORDER BY question"
        return [SavedQuestion(*row) for row in self._db.execute(sql, (ontology_id,)).fetchall()]

    # --------------------------------------------------------------------------------------------- names

    def name(self, name_id: int) -> Name | None:
        row = self._db.execute(f"SELECT {NAME} FROM name WHERE id = ?", (name_id,)).fetchone()
        return name_from(row) if row else None

    def united(self, name_id: int) -> Name | None:
        row = self._db.execute("SELECT into_id FROM united WHERE id = ?", (name_id,)).fetchone()
        return self.name(row[0]) if row else None

    def child(self, parent: int, name: str) -> Name | None:
        sql = f"SELECT {NAME} FROM name WHERE parent = ? AND name = ? AND parent != 0"
        row = self._db.execute(sql, (parent, name)).fetchone()
        return name_from(row) if row else None

    def children(self, parent: int, after: str = "", limit: int = 1000) -> list[Name]:
        sql = f"SELECT {NAME} FROM name WHERE parent = ? AND name > ? AND parent != 0 ORDER BY name LIMIT ?"
        return [name_from(row) for row in self._db.execute(sql, (parent, after, limit)).fetchall()]

    def resolve(self, ontology_id: str, path: str) -> Name | None:
        row = self._db.execute("SELECT root FROM ontology WHERE id = ?", (ontology_id,)).fetchone()
        if row is None:
            return None
        found = self.name(row[0])
        for part in path.split("/") if path else ():
            found = self.child(found.id, part) if found else None
        return found

    def path(self, name_id: int) -> str | None:
        return lineage.path_of(self._db, name_id)

    def names_of(self, doc_id: str) -> list[Name]:
        return [name_from(row) for row in self._db.execute(_NAMES_OF, (doc_id,)).fetchall()]

    def called(self, name: str, ontologies: Sequence[str], limit: int) -> list[Name]:
        sql = (
            f"SELECT {NAME} FROM name NOT INDEXED WHERE doc_id != '' AND (name = ?1 OR (name > ?1 || '.' AND name < ?1 || '/'))"
            " AND ontology IN (SELECT value FROM json_each(?2)) ORDER BY id LIMIT ?3"
        )
        rows = self._db.execute(sql, (name, json.dumps([*ontologies]), limit)).fetchall()
        return [name_from(row) for row in rows]

    def placed(self, ontology_id: str) -> list[tuple[str, str, int]]:
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
        return parts.all_held(self._db)

    def held(self, doc_id: str) -> bool:
        return parts.held(self._db, doc_id)

    def parts(self, doc_id: str, after: int = 0, limit: int = -1) -> list[PartRow]:
        sql = f"SELECT {parts.PART} FROM part WHERE parent = ? AND n > ? ORDER BY n LIMIT ?"
        return [PartRow(*row) for row in self._db.execute(sql, (doc_id, after, limit)).fetchall()]

    def part(self, doc_id: str, name: str) -> PartRow | None:
        row = self._db.execute(
            f"SELECT {parts.PART} FROM part WHERE parent = ? AND name = ?", (doc_id, name)
        ).fetchone()
        return PartRow(*row) if row else None

    def part_of(self, doc_id: str, *, held: bool = True) -> list[PartRow]:
        if not held:
            sql = f"SELECT {parts.PART} FROM part WHERE child = ? AND child != '' ORDER BY parent, n"
            return [PartRow(*row) for row in self._db.execute(sql, (doc_id,)).fetchall()]
        return [PartRow(*row) for row in parts.holders(self._db, doc_id)]

    def first_found_in(self, doc_ids: Sequence[str]) -> list[str]:
        sql = "SELECT doc_id FROM document WHERE parent != '' AND parent IN (SELECT value FROM json_each(?)) ORDER BY doc_id"
        return [doc_id for (doc_id,) in self._db.execute(sql, (json.dumps([*doc_ids]),)).fetchall()]

    def unsettled(
        self, *, session: str | None = None, quiet_before: int, or_after: int = 2**63 - 1, alive: Sequence[str] = ()
    ) -> list[Name]:
        sessions = [session] if session is not None else list(alive)
        whose = f"session {'IN' if session is not None else 'NOT IN'} ({', '.join('?' * len(sessions))})"
        sql = f"SELECT {NAME} FROM name WHERE settled = 0 AND touched_at %s ? AND {whose} ORDER BY touched_at, id"
        rows = self._db.execute(sql % "<=", (quiet_before, *sessions)).fetchall()
        if or_after < 2**63 - 1:
            rows += self._db.execute(sql % ">", (max(or_after, quiet_before), *sessions)).fetchall()
        return [name_from(row) for row in rows]

    def arriving(self, ontology_id: str, sha256: str) -> bool:
        sql = "SELECT 1 FROM name INDEXED BY name_unsettled WHERE settled = 0 AND ontology = ? AND sha256 = ? LIMIT 1"
        return self._db.execute(sql, (ontology_id, sha256)).fetchone() is not None

    def unsettled_count(self, *, besides: str | None = None) -> int:
        sql = "SELECT count(*) FROM name WHERE settled = 0" + (" AND session != ?" if besides is not None else "")
        count: int = self._db.execute(sql, () if besides is None else (besides,)).fetchone()[0]
        return count

    # ------------------------------------------------------------------------------ versions, documents

    def lineage_for(self, name_id: int) -> tuple[int, int]:
        found = lineage.next_version(self._db, name_id)
        if found is None:
            raise MissingError(f"No live file has the id {name_id}.")
        return found

    def versions(self, name_id: int) -> list[Version]:
        sql = (
            f"SELECT {VERSION} FROM version WHERE lineage = coalesce((SELECT lineage FROM name WHERE id = ?1),"
            " (SELECT lineage FROM trash WHERE id = ?1)) ORDER BY n"
        )
        return [version_from(row) for row in self._db.execute(sql, (name_id,)).fetchall()]

    def conflicts(self, limit: int = -1) -> list[tuple[Version, Name | None]]:
        order = "ORDER BY minted_at DESC, lineage DESC, n DESC LIMIT ?"
        sql = f"SELECT {VERSION} FROM version WHERE decision = 'conflict' {order}"
        found = [version_from(row) for row in self._db.execute(sql, (limit,)).fetchall()]
        return [(version, self._holder(version.lineage)) for version in found]

    def conflict_count(self) -> int:
        count: int = self._db.execute("SELECT count(*) FROM version WHERE decision = 'conflict'").fetchone()[0]
        return count

    def _holder(self, lineage: int) -> Name | None:
        row = self._db.execute(f"SELECT {NAME} FROM name WHERE lineage = ? AND lineage != 0", (lineage,)).fetchone()
        return name_from(row) if row else None

    def version_of(self, doc_id: str) -> tuple[Version, Name | None] | None:
        sql = f"SELECT {VERSION} FROM version WHERE doc_id = ? ORDER BY deposit DESC LIMIT 1"
        row = self._db.execute(sql, (doc_id,)).fetchone()
        if row is None:
            return None
        return version_from(row), self._holder(row[0])

    def succession(self, doc_id: str) -> list[Succession]:
        beside = (
            "coalesce((SELECT other.doc_id FROM version AS other WHERE other.lineage = version.lineage"
            " AND other.n {} version.n AND other.doc_id != '' ORDER BY other.n {} LIMIT 1), '')"
        )
        before, behind = beside.format("<", "DESC"), beside.format(">", "ASC")
        sql = f"SELECT {VERSION}, {before}, {behind} FROM version WHERE doc_id = ? ORDER BY deposit"
        return [Succession(version_from(row[:-2]), *row[-2:]) for row in self._db.execute(sql, (doc_id,)).fetchall()]

    def document(self, doc_id: str) -> Document | None:
        row = self._db.execute(f"SELECT {DOCUMENT} FROM document WHERE doc_id = ?", (doc_id,)).fetchone()
        return document_from(row) if row else None

    def document_with(self, ontology_id: str, sha256: str) -> Document | None:
        sql = f"SELECT {DOCUMENT} FROM document WHERE ontology = ? AND sha256 = ? ORDER BY deposit DESC LIMIT 1"
        row = self._db.execute(sql, (ontology_id, sha256)).fetchone()
        return document_from(row) if row else None

    def documents(self, ontology_id: str, after: str = "", limit: int = 1000) -> list[Document]:
        sql = f"SELECT {DOCUMENT} FROM document WHERE ontology = ? AND doc_id > ? ORDER BY doc_id LIMIT ?"
        return [document_from(row) for row in self._db.execute(sql, (ontology_id, after, limit)).fetchall()]

    def newest(self, ontology_id: str, limit: int = 10) -> list[Document]:
        sql = f"SELECT {DOCUMENT} FROM document WHERE ontology = ? ORDER BY deposit DESC LIMIT ?"
        return [document_from(row) for row in self._db.execute(sql, (ontology_id, limit)).fetchall()]

    def unread(self, ontology_id: str, limit: int = 10) -> list[Document]:
        sql = (
            f"SELECT {DOCUMENT} FROM document WHERE ontology = ? AND state IN ('failed', 'unsupported')"
            " ORDER BY deposit DESC LIMIT ?"
        )
        return [document_from(row) for row in self._db.execute(sql, (ontology_id, limit)).fetchall()]

    def predecessors(self, doc_id: str) -> list[str]:
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
        return bool(self._db.execute("SELECT EXISTS (SELECT 1 FROM document WHERE reading != '')").fetchone()[0])

    # -------------------------------------------------------------------------------- trash, forgetting

    def trash(self, after: int = 0, limit: int = 1000, removed_before: int = 2**63 - 1) -> list[Trashed]:
        sql = f"SELECT {forgetting.TRASHED} FROM trash WHERE id > ? AND at < ? ORDER BY id LIMIT ?"
        return [Trashed(*row) for row in self._db.execute(sql, (after, removed_before, limit)).fetchall()]

    def trashed(self, name_id: int) -> Trashed | None:
        row = self._db.execute(f"SELECT {forgetting.TRASHED} FROM trash WHERE id = ?", (name_id,)).fetchone()
        return Trashed(*row) if row else None

    def names_at(self, key: str) -> list[Name]:
        sql = f"SELECT {NAME} FROM name WHERE key = ? AND place = 'garage' ORDER BY id"
        return [name_from(row) for row in self._db.execute(sql, (key,)).fetchall()]

    def lineages(self, doc_id: str) -> list[int]:
        sql = "SELECT DISTINCT lineage FROM version WHERE doc_id = ? ORDER BY lineage"
        return [lineage for (lineage,) in self._db.execute(sql, (doc_id,)).fetchall()]

    def history(self, lineage: int) -> list[Version]:
        sql = f"SELECT {VERSION} FROM version WHERE lineage = ? ORDER BY n"
        return [version_from(row) for row in self._db.execute(sql, (lineage,)).fetchall()]

    def forgettings(self) -> list[Forgetting]:
        return forgetting.owed(self._db)

    def forgettings_count(self) -> int:
        count: int = self._db.execute("SELECT count(*) FROM forgetting").fetchone()[0]
        return count

    def tombstoned(self, doc_id: str) -> bool:
        return self._db.execute("SELECT 1 FROM tombstone WHERE doc_id = ?", (doc_id,)).fetchone() is not None

    def suppressed(self, concept_ids: Sequence[str], doc_id: str) -> frozenset[str]:
        return forgetting.suppressed(self._db, concept_ids, doc_id)
