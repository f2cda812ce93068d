"""The dedup table, row by row."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgfs.domain.documents import INGEST_VERSION, Document, Name, NameKind, Ontology, State, Version
from kgfs.domain.identity import doc_id_of
from kgfs.ingest.storing.identify import DAY, Action, decide, identity

NOW = 1_000 * DAY
SHA = "ab" * 32
OTHER = "cd" * 32
ONTOLOGY = Ontology("0123456789ab", "Notes", "Notes", 7, 0)


def name(**changes: Any) -> Name:
    fields: dict[str, Any] = {
        "id": 1,
        "ontology": ONTOLOGY.id,
        "parent": 7,
        "name": "a.txt",
        "kind": NameKind.FILE,
        "mode": 0o644,
        "uid": 0,
        "gid": 0,
        "atime": 0,
        "mtime": 0,
        "ctime": 0,
        "size": 3,
        "sha256": SHA,
        "settled": False,
    }
    return Name(**{**fields, **changes})


def document(state: State, **changes: Any) -> Document:
    fields: dict[str, Any] = {
        "doc_id": "d" * 16,
        "ontology": ONTOLOGY.id,
        "sha256": SHA,
        "source_id": f"{ONTOLOGY.id}/first.md",
        "key": f"sources/Notes/{SHA[:32]}.md",
        "size": 3,
        "state": state,
        "reading": "r1",
        "commit_id": "c1",
    }
    return Document(**{**fields, **changes})


def version(doc_id: str, sha256: str) -> Version:
    return Version(1, 4, doc_id, sha256, 3, "key", "a.txt", 0)


SAME = version("d" * 16, SHA)
BEFORE = version("e" * 16, OTHER)
LEFT = {"commit_id": ""}

TABLE: list[tuple[str, Version | None, Document | None, dict[str, Any], Action]] = [
    ("new bytes, new path", None, None, {}, Action.INSERT),
    ("new bytes, known path", BEFORE, None, {"n": 5}, Action.UPDATE),
    ("new bytes where an editor moved the old file aside", None, None, {"n": 2}, Action.UPDATE),
    ("read bytes, new path", None, document(State.DONE), {}, Action.ALIAS),
    ("read bytes, other path's new version", BEFORE, document(State.DONE), {"n": 5}, Action.ALIAS),
    ("gated bytes", None, document(State.GATED), {}, Action.ALIAS),
    ("unsupported bytes", None, document(State.UNSUPPORTED), {}, Action.ALIAS),
    ("failed bytes, new path", None, document(State.FAILED), {}, Action.REPROCESS),
    ("failed bytes, same path", SAME, document(State.FAILED), {"n": 5}, Action.SKIP),
    ("the same bytes again", SAME, document(State.DONE), {"n": 5}, Action.SKIP),
    ("queued, new path", None, document(State.QUEUED), {}, Action.IN_PROGRESS),
    ("worked on, new path", None, document(State.WORKING), {}, Action.IN_PROGRESS),
    ("queued, same path", SAME, document(State.QUEUED), {"n": 5}, Action.SKIP),
    ("queued, forced", None, document(State.QUEUED), {"force": True}, Action.IN_PROGRESS),
    ("forced", SAME, document(State.DONE), {"n": 5, "force": True}, Action.REPROCESS),
    ("forced, other path", None, document(State.DONE), {"force": True}, Action.REPROCESS),
    ("another path has them, one is wanted", None, document(State.DONE), {"elsewhere": "b.txt"}, Action.REFUSE),
    ("another path has them unsettled", BEFORE, None, {"n": 5, "elsewhere": "b.txt"}, Action.REFUSE),
    ("refused, forced", None, document(State.DONE), {"force": True, "elsewhere": "b.txt"}, Action.REFUSE),
    ("older ingest version", SAME, document(State.DONE), {"ingest_version": INGEST_VERSION + 1}, Action.REPROCESS),
    ("older, other path", None, document(State.UNSUPPORTED), {"ingest_version": INGEST_VERSION + 1}, Action.REPROCESS),
    ("older and gone", None, document(State.TRASHED, **LEFT), {"ingest_version": INGEST_VERSION + 1}, Action.REPROCESS),
    ("stale, still shown", BEFORE, document(State.STALE), {"n": 5}, Action.ALIAS),
    ("A → B → A, A has left", BEFORE, document(State.KEPT, **LEFT), {"n": 5}, Action.REVIVE),
    ("trashed yesterday", None, document(State.TRASHED, removed_at=NOW - DAY, **LEFT), {}, Action.REVIVE),
    ("trashed 30 days ago", None, document(State.TRASHED, removed_at=NOW - 30 * DAY, **LEFT), {}, Action.REVIVE),
    ("trashed 31 days ago", None, document(State.TRASHED, removed_at=NOW - 31 * DAY, **LEFT), {}, Action.INSERT),
    ("trashed a second ago, not forgotten yet", None, document(State.TRASHED, removed_at=NOW - 1), {}, Action.ALIAS),
    ("trashed before it was read", None, document(State.TRASHED, reading="", **LEFT), {}, Action.INSERT),
]


@pytest.mark.parametrize(("what", "newest", "known", "given", "action"), TABLE, ids=[row[0] for row in TABLE])
def test_table(
    what: str, newest: Version | None, known: Document | None, given: dict[str, Any], action: Action
) -> None:
    decision = decide(name(), "a.txt", newest, known, **{"n": 1, "now": NOW, "trash_days": 30, **given})
    assert decision.action is action
    assert decision.reason
    again = newest is SAME and action is Action.REPROCESS
    assert decision.mints is not (again or action in (Action.SKIP, Action.REFUSE))


NO_DOCUMENTS = [
    ({"size": 0, "sha256": ""}, "a.txt", "empty"),
    ({"kind": NameKind.LINK, "size": 5, "sha256": ""}, "a.txt", "link"),
    ({"kind": NameKind.FOLDER}, "a", "folder"),
    ({}, ".a.txt.swp", "dot-name"),
    ({}, ".git/config", "dot-name"),
    ({}, "notes/a.txt~", "temporary"),
]


@pytest.mark.parametrize(("changes", "path", "word"), NO_DOCUMENTS)
def test_no_documents(changes: dict[str, Any], path: str, word: str) -> None:
    decision = decide(name(**changes), path, None, None, n=1, now=NOW, trash_days=30, force=True)
    assert decision.action is Action.NONE
    assert word in decision.reason


def test_identity_of_new_bytes_is_of_the_path_they_came_by() -> None:
    who = identity(ONTOLOGY, "deep/Notes.MD", SHA, None)
    assert who.source_id == "0123456789ab/deep/Notes.MD"
    assert who.doc_id == doc_id_of(who.source_id, SHA)
    assert who.key == f"sources/Notes/{SHA[:32]}.md"


def test_identity_of_known_bytes_stays() -> None:
    known = document(State.TRASHED)
    who = identity(ONTOLOGY, "elsewhere.txt", SHA, known)
    assert (who.doc_id, who.source_id, who.key) == (known.doc_id, known.source_id, known.key)


@given(
    state=st.sampled_from(State),
    same=st.booleans(),
    shown=st.booleans(),
    read=st.booleans(),
    force=st.booleans(),
    age=st.integers(0, 60),
)
@settings(max_examples=200, deadline=None)
def test_every_state_has_a_decision_that_loses_nothing(
    state: State, same: bool, shown: bool, read: bool, force: bool, age: int
) -> None:
    """Bytes that no knowledge stands for are always owed a reading; SKIP only where the path has the version already."""
    known = document(state, commit_id="c" if shown else "", reading="r" if read else "", removed_at=NOW - age * DAY)
    decision = decide(
        name(), "a.txt", SAME if same else None, known, n=5 if same else 1, now=NOW, trash_days=30, force=force
    )
    if decision.action is Action.SKIP:
        assert same
    if state in (State.TRASHED, State.KEPT, State.STALE) and not shown:
        assert decision.action in (Action.INSERT, Action.REVIVE, Action.REPROCESS)
    assert known.ingest_version == INGEST_VERSION
