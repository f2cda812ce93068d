"""The contract of a catalog's names: what is refused, what is read, what follows (SQLite and in memory alike)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kgfs.domain.documents import NameKind, StorageTier
from kgfs.domain.identity import new_id
from kgfs.errors import (
    BadInputError,
    BusyError,
    ExistsError,
    IsAFolderError,
    KgfsError,
    MissingError,
    NameTooLongError,
    NotAFolderError,
    NotEmptyError,
    RefusedError,
)
from kgfs.stores.catalog import facts as f
from kgfs.stores.catalog.sqlite import Catalog
from tests.support.catalog_building import SECOND, Hand


@pytest.fixture
def catalog() -> Iterator[Catalog]:
    made = Catalog(None)
    yield made
    made.close()


@pytest.fixture
def hand(catalog: Catalog) -> Hand:
    return Hand(catalog)


def refused(hand: Hand, error: type[KgfsError], *facts: f.Fact) -> None:
    """All or none: nothing of the call is true afterwards."""
    before = hand.catalog.seq(), hand.names.children(hand.root)
    with pytest.raises(error):
        hand.record(*facts)
    assert (hand.catalog.seq(), hand.names.children(hand.root)) == before


# ------------------------------------------------------------------------------------------------ reading


def test_ontologies_are_listed_by_name_and_found_by_both_keys(hand: Hand) -> None:
    hand.ontology("Z")
    hand.ontology("A")
    hand.record(f.SettingChanged("id-A", "domains", "zen", 1), f.SettingChanged("", "marks", "==", 1))
    assert [ontology.name for ontology in hand.names.ontologies()] == ["A", "P", "Z"]
    found = hand.names.ontology("id-A")
    assert found == hand.names.ontology_named("A")
    assert found and found.settings == {"domains": "zen"} and found.prefix == "a"
    assert hand.names.settings() == {"marks": "=="}
    assert hand.names.ontology("none") is None and hand.names.ontology_named("none") is None


def test_an_ontology_is_renamed_and_removed_once_empty(hand: Hand) -> None:
    hand.ontology("Q")
    refused(hand, ExistsError, f.OntologyRenamed("id-Q", "P", 1))
    hand.record(f.OntologyRenamed("id-P", "Physics", 1))
    assert hand.names.ontology_named("P") is None and hand.names.ontology_named("Physics")
    file = hand.empty("a")
    refused(hand, NotEmptyError, f.OntologyRemoved("id-P", 1))
    hand.remove(file)
    hand.record(f.OntologyRemoved("id-P", 1))
    assert hand.names.ontology("id-P") is None and hand.names.name(hand.root) is None
    [removed] = hand.names.removed_ontologies()
    assert (removed.id, removed.name, removed.root) == ("id-P", "Physics", hand.root)
    hand.ontology("Physics")
    refused(hand, MissingError, f.OntologyRenamed("id-P", "X", 1))
    refused(hand, MissingError, f.OntologyRemoved("id-P", 1))
    refused(hand, MissingError, f.SettingChanged("id-P", "k", "v", 1))
    refused(hand, ExistsError, f.OntologyMade("other", "Q", "q", new_id(), 0o755, 0, 0, 1))


def test_searches_are_saved_by_ontology_and_at_the_root(hand: Hand) -> None:
    hand.record(f.SearchSaved("id-P", "zen koans", 5), f.SearchSaved("id-P", "a%2Fb", 6), f.SearchSaved("", "zen", 7))
    assert [(saved.words, saved.saved_at) for saved in hand.names.saved_searches("id-P")] == [
        ("a%2Fb", 6),
        ("zen koans", 5),
    ]
    assert [saved.words for saved in hand.names.saved_searches()] == ["zen"]
    refused(hand, ExistsError, f.SearchSaved("id-P", "zen koans", 8))
    refused(hand, MissingError, f.SearchSaved("none", "zen", 8))
    refused(hand, MissingError, f.SearchRemoved("id-P", "zen", 8))
    refused(hand, NotEmptyError, f.OntologyRemoved("id-P", 8))
    hand.record(f.SearchRemoved("id-P", "zen koans", 9))
    hand.record(f.SearchRemoved("id-P", "a%2Fb", 9), f.OntologyRemoved("id-P", 9))
    assert hand.names.saved_searches("id-P") == [] and len(hand.names.saved_searches()) == 1


def test_the_root_is_a_folder_without_a_parent(hand: Hand) -> None:
    root = hand.row(hand.root)
    assert (root.parent, root.kind, root.mode, root.uid, root.gid) == (0, NameKind.FOLDER, 0o755, 7, 8)
    assert hand.names.path(hand.root) == "" and hand.names.resolve("id-P", "") == root
    assert hand.names.children(0) == [] and hand.names.child(0, root.name) is None


def test_children_come_in_order_of_code_points_and_in_pages(hand: Hand) -> None:
    for name in ("b", "a", "Z", "ä", "\U0001f600", "\uffee"):
        hand.empty(name)
    order = ["Z", "a", "b", "ä", "\uffee", "\U0001f600"]
    assert [name.name for name in hand.names.children(hand.root)] == order
    assert [name.name for name in hand.names.children(hand.root, after="a", limit=2)] == ["b", "ä"]


def test_paths_lead_to_names_and_back(hand: Hand) -> None:
    inner = hand.folder("inner", hand.folder("outer"))
    file = hand.empty("f", inner)
    assert hand.names.path(file) == "outer/inner/f"
    assert hand.names.resolve("id-P", "outer/inner/f") == hand.row(file) == hand.names.child(inner, "f")
    assert hand.names.resolve("id-P", "outer/none/f") is None and hand.names.resolve("none", "") is None
    hand.remove(file)
    assert hand.names.path(file) is None and hand.names.name(file) is None and hand.names.child(inner, "f") is None


def test_rows_hold_what_the_facts_said(hand: Hand) -> None:
    link = hand.row(hand.link("l", "t%FF"))
    assert (link.kind, link.target, link.size, link.mode, link.settled) == (NameKind.LINK, "t%FF", 2, 0o777, True)
    file = hand.empty("f")
    made = hand.row(file)
    assert (made.place, made.sha256, made.size, made.settled, made.version) == (StorageTier.NONE, "", 0, True, 0)
    assert made.atime == made.mtime == made.ctime == made.arrived_at == hand.at
    hand.write(file, "abc")
    kept = hand.row(file)
    assert (kept.place, kept.sha256, kept.size, kept.key, kept.settled) == (
        *(StorageTier.SPOOL, "abc", 3, f"spool-{file}"),
        False,
    )
    assert (kept.mtime, kept.ctime) == (hand.at - 1, hand.at)
    hand.record(f.AttributesSet(file, hand.tick(), mode=0o600, uid=5, atime=3))
    after = hand.row(file)
    assert (after.mode, after.uid, after.gid, after.atime, after.mtime, after.ctime) == (
        *(0o600, 5, 2, 3, kept.mtime),
        hand.at,
    )


def test_attributes_do_not_unsettle(hand: Hand) -> None:
    file, _ = hand.document("a", "x")
    hand.record(f.AttributesSet(file, hand.tick(), mtime=1, gid=9))
    assert hand.row(file).settled and hand.row(file).gid == 9


# ------------------------------------------------------------------------------------------------ refusing


def test_names_that_cannot_be_are_refused(hand: Hand) -> None:
    file = hand.empty("f")

    def made(parent: int, name: str, name_id: int = 0, ontology: str = "id-P") -> f.FileMade:
        return f.FileMade(name_id or new_id(), ontology, parent, name, 0o644, 0, 0, 1)

    refused(hand, ExistsError, made(hand.root, "f"))
    refused(hand, ExistsError, made(hand.root, "g", file))
    refused(hand, MissingError, made(new_id(), "g"))
    refused(hand, NotAFolderError, made(file, "g"))
    refused(hand, BadInputError, made(hand.root, "g", ontology="id-Q"))
    for name in ("", ".", "..", "a/b", "a\0b"):
        refused(hand, BadInputError, made(hand.root, name))
    refused(hand, NameTooLongError, made(hand.root, "ä" * 128))
    hand.record(made(hand.root, "ä" * 127), made(hand.root, "%FF" * 255))
    refused(hand, ExistsError, made(hand.root, "new"), made(hand.root, "new"))


def test_facts_about_what_is_gone_are_refused(hand: Hand) -> None:
    gone = hand.file("f", "x")
    hand.remove(gone)
    minted = ("id-P", 1, "d", "x", 1, "k", "s", "f", "insert", "", 1)
    for fact in (
        f.ContentKept(gone, "x", 1, "spool", "k", 1, 1),
        f.AttributesSet(gone, 1, mode=0),
        f.Moved(gone, "id-P", hand.root, "g", 0, 1),
        f.Removed(gone, 1),
        f.Settled(gone, "none", "", "", 1, "", "none"),
        f.VersionMinted(gone, *minted),
        f.DocumentRead("none", "done", "", "", "", (), 1),
        f.DocumentFailed("none", "failed", "", 1),
        f.DocumentForgotten("none", "orphans", "", 1),
    ):
        refused(hand, MissingError, fact)
    with pytest.raises(MissingError):
        hand.names.lineage_for(gone)


def test_content_belongs_to_files(hand: Hand) -> None:
    content = ("x", 1, "spool", "k", 1, 1)
    refused(hand, IsAFolderError, f.ContentKept(hand.folder("d"), *content))
    refused(hand, BadInputError, f.ContentKept(hand.link("l"), *content))
    file = hand.empty("f")
    refused(hand, BadInputError, f.ContentKept(file, "x", 1, "inbox", "", 1, 1))
    refused(hand, BadInputError, f.ContentKept(file, "", 0, "spool", "k", 1, 1))


def test_only_empty_folders_are_removed_and_no_root(hand: Hand) -> None:
    folder = hand.folder("d")
    file = hand.empty("f", folder)
    refused(hand, NotEmptyError, f.Removed(folder, 1))
    refused(hand, RefusedError, f.Removed(hand.root, 1))
    refused(hand, RefusedError, f.Moved(hand.root, "id-P", folder, "x", 0, 1))
    hand.remove(file)
    hand.remove(folder)
    assert hand.names.children(hand.root) == []


def test_moves_that_cannot_be_are_refused(hand: Hand) -> None:
    full, empty = hand.folder("full"), hand.folder("empty")
    below = hand.folder("below", full)
    file, other = hand.empty("file"), hand.empty("other")

    def moved(name_id: int, parent: int, name: str, replaces: int = 0) -> f.Moved:
        return f.Moved(name_id, "id-P", parent, name, replaces, 1)

    refused(hand, BadInputError, moved(full, below, "x"))
    refused(hand, BadInputError, moved(full, full, "x"))
    refused(hand, BadInputError, moved(file, hand.root, "file", file))
    refused(hand, ExistsError, moved(file, hand.root, "other"))
    refused(hand, MissingError, moved(file, hand.root, "new", other))
    refused(hand, MissingError, moved(file, hand.root, "other", empty))
    refused(hand, MissingError, moved(file, new_id(), "x"))
    refused(hand, IsAFolderError, moved(file, hand.root, "empty", empty))
    refused(hand, NotAFolderError, moved(empty, hand.root, "file", file))
    refused(hand, NotEmptyError, moved(empty, hand.root, "full", full))
    refused(hand, NotAFolderError, moved(empty, file, "x"))
    hand.record(moved(full, hand.root, "empty", empty))
    assert hand.names.path(below) == "empty/below" and hand.names.name(empty) is None


def test_decisions_about_what_changed_meanwhile_are_refused(hand: Hand) -> None:
    file = hand.file("a", "x")
    minted = ("d", "x", 1, "k", "s", "a", "insert", "", 1)
    refused(hand, BusyError, f.VersionMinted(file, "id-P", 2, *minted))
    refused(hand, BusyError, f.VersionMinted(file, "id-Q", 1, *minted))
    hand.move(file, "b")
    refused(hand, BusyError, f.VersionMinted(file, "id-P", 1, *minted))
    hand.move(file, "a")
    hand.write(file, "y")
    refused(hand, BusyError, f.VersionMinted(file, "id-P", 1, *minted))
    refused(hand, BusyError, f.Settled(file, "garage", "k", "", 1, "x", "none"))
    assert hand.row(file).key == f"spool-{file}" and not hand.row(file).settled


# ------------------------------------------------------------------------------------------------- effects


def test_a_folder_follows_what_appears_in_it_and_leaves_it(hand: Hand) -> None:
    one, two = hand.folder("one"), hand.folder("two")

    def times(folder: int) -> tuple[int, int]:
        return hand.row(folder).mtime, hand.row(folder).ctime

    file = hand.empty("f", one)
    assert times(one) == (hand.at, hand.at)
    made = hand.at
    hand.write(file, "x")
    hand.record(f.AttributesSet(file, hand.tick(), mode=0))
    assert times(one) == (made, made)
    hand.move(file, "g", two)
    assert times(one) == times(two) == (hand.at, hand.at)
    assert hand.row(file).ctime == hand.row(file).arrived_at == hand.at
    hand.link("l", parent=one)
    assert times(one) == (hand.at, hand.at)
    hand.folder("d", one)
    assert times(one) == (hand.at, hand.at)
    hand.remove(file)
    assert times(two) == (hand.at, hand.at)


def test_what_was_written_waits_for_its_settling(catalog: Catalog, hand: Hand) -> None:
    first = hand.file("a", "x")
    quiet = hand.at
    hand.session = "other"
    second = hand.file("b", "y")

    def waiting(**about: object) -> list[int]:
        return [name.id for name in hand.names.unsettled(**about)]  # type: ignore[arg-type]

    assert waiting(quiet_before=hand.at) == [first, second]
    assert waiting(quiet_before=quiet) == [first] and waiting(quiet_before=quiet - 1) == []
    assert waiting(quiet_before=quiet - 1, or_after=quiet) == [second]
    assert waiting(quiet_before=quiet - 1, or_after=quiet - 1) == [first, second]
    assert waiting(quiet_before=quiet - 1, or_after=quiet, session="mount") == []
    assert waiting(quiet_before=hand.at, session="mount") == [first]
    assert waiting(quiet_before=hand.at, session="nobody") == []
    assert waiting(quiet_before=hand.at, alive=["mount"]) == [second]
    assert waiting(quiet_before=hand.at, alive=["mount", "other"]) == []
    hand.write(first, "z")
    assert waiting(quiet_before=hand.at, session="other") == [second, first]
    hand.mint(first)
    hand.write(second, "")
    hand.settle(second)
    assert waiting(quiet_before=1 << 62) == []


def test_renames_unsettle_only_what_they_give_another_meaning(hand: Hand) -> None:
    file, doc_id = hand.document("a.txt", "x")
    hand.move(file, "b.txt")
    assert hand.row(file).settled and hand.row(file).doc_id == doc_id
    hand.move(file, ".b.txt")
    assert not hand.row(file).settled and hand.row(file).doc_id == doc_id
    hand.settle(file)
    assert hand.row(file).settled and hand.row(file).doc_id == "" and hand.row(file).version == 1
    hand.move(file, "b.txt")
    assert not hand.row(file).settled
    hand.settle(file)
    assert hand.row(file).doc_id == doc_id


def test_a_folder_that_is_hidden_unsettles_what_is_below(hand: Hand) -> None:
    folder = hand.folder("d")
    deep = hand.folder("deep", folder)
    file, doc_id = hand.document("a", "x", deep)
    passing = hand.file("a~", "y", deep)
    hand.settle(passing)
    hand.move(folder, "e")
    assert hand.row(file).settled
    hand.move(folder, ".e")
    assert not hand.row(file).settled and hand.row(file).doc_id == doc_id and hand.row(passing).settled
    hand.settle(file)
    assert hand.row(file).doc_id == ""


def test_what_moves_to_another_ontology_is_another_document_there(hand: Hand) -> None:
    other = hand.ontology("Q")
    folder = hand.folder("d")
    link = hand.link("l", parent=folder)
    file, doc_id = hand.document("a", "x", folder)
    hand.move(folder, "d", other)
    assert {hand.row(moved).ontology for moved in (folder, link, file)} == {"id-Q"}
    assert not hand.row(file).settled and hand.row(file).doc_id == "" and hand.names.names_of(doc_id) == []
    assert hand.row(link).settled and hand.owed() == [("forget", doc_id)]
    there = hand.mint(file)
    assert there != doc_id and hand.names.predecessors(there) == []
    assert hand.owed() == [("forget", doc_id), ("read", there)]
    assert [version.doc_id for version in hand.names.versions(file)] == [doc_id, there]


# -------------------------------------------------------------------------------------------------- history


def test_editing_in_place_makes_versions_of_the_path(hand: Hand) -> None:
    file, first = hand.document("a", "x")
    hand.write(file, "yy")
    assert hand.names.lineage_for(file) == (hand.names.versions(file)[0].lineage, 2)
    second = hand.mint(file, "update")
    one, two = hand.names.versions(file)
    assert (one.n, one.doc_id, one.sha256, one.size, one.key, one.path) == (1, first, "x", 1, "key-x", "a")
    assert (two.n, two.doc_id, two.size, two.minted_at) == (2, second, 2, hand.at)
    row = hand.row(file)
    assert (row.version, row.doc_id, row.place, row.key, row.settled) == (2, second, StorageTier.GARAGE, "key-yy", True)
    assert hand.names.version_of(first) == (one, row) and hand.names.version_of("none") is None


def test_renaming_over_a_file_continues_its_history(hand: Hand) -> None:
    file, first = hand.document("a", "x")
    new = hand.file("a.tmp", "y")
    hand.move(new, "a", replaces=file)
    row = hand.row(new)
    assert (row.doc_id, row.version, row.settled, row.sha256) == (first, 1, False, "y")
    assert hand.names.name(file) is None and hand.owed() == []
    second = hand.mint(new, "update")
    assert [version.doc_id for version in hand.names.versions(new)] == [first, second]
    assert hand.names.predecessors(second) == [first] and hand.state(first) == "stale"


def test_a_history_that_is_taken_over_is_left_by_its_own(hand: Hand) -> None:
    first, doc_a = hand.document("a", "x")
    second, doc_b = hand.document("b", "y")
    hand.move(second, "a", replaces=first)
    assert [version.doc_id for version in hand.names.versions(second)] == [doc_a]
    found = hand.names.version_of(doc_b)
    assert found and found[0].path == "b" and found[1] is None
    assert hand.owed() == [("forget", doc_b)] and not hand.row(second).settled
    assert hand.mint(second) == doc_b
    assert hand.owed() == [("forget", doc_a)] and hand.state(doc_b) == "done"
    assert [version.doc_id for version in hand.names.versions(second)] == [doc_a, doc_b]


def test_replacing_a_file_without_versions_keeps_ones_own(hand: Hand) -> None:
    passing = hand.file("b", "y")
    file, doc_id = hand.document("a", "x")
    hand.move(file, "b", replaces=passing)
    assert hand.row(file).doc_id == doc_id and hand.names.lineage_for(file)[1] == 2


def test_a_link_over_a_file_puts_the_file_into_the_trash(hand: Hand) -> None:
    file, doc_id = hand.document("a", "x")
    hand.move(hand.link("l"), "a", replaces=file)
    assert [version.doc_id for version in hand.names.versions(file)] == [doc_id]
    assert hand.owed() == [("forget", doc_id)]


def test_moving_aside_leaves_the_history_with_the_path(hand: Hand) -> None:
    file, first = hand.document("a.txt", "x")
    hand.move(file, "a.txt~")
    hand.tick(60)
    new = hand.file("a.txt", "y")
    assert hand.names.lineage_for(new)[1] == 2
    second = hand.mint(new, "update")
    assert [version.doc_id for version in hand.names.versions(new)] == [first, second]
    backup = hand.row(file)
    assert (backup.version, backup.doc_id, backup.settled) == (0, "", False)
    assert hand.names.versions(file) == [] and hand.names.lineage_for(file)[1] == 1
    assert hand.state(first) == "stale" and hand.names.predecessors(second) == [first]


def test_a_backup_is_settled_anew_when_its_history_is_taken_over(hand: Hand) -> None:
    file, first = hand.document("a.txt", "x")
    hand.move(file, "a.txt~")
    new = hand.file("a.txt", "y")
    hand.settle(file)
    assert hand.row(file).settled and hand.owed() == [("forget", first)]
    second = hand.mint(new, "update")
    assert not hand.row(file).settled and hand.owed() == [("read", second)]


def test_a_backup_may_be_removed_before_the_settling(hand: Hand) -> None:
    file, first = hand.document("a.txt", "x")
    hand.move(file, "a.txt~")
    new = hand.file("a.txt", "y")
    hand.tick(60)
    hand.remove(file)
    assert hand.owed() == [("forget", first)]
    second = hand.mint(new, "update")
    assert [version.doc_id for version in hand.names.versions(new)] == [first, second]
    assert hand.owed() == [("read", second)] and hand.state(first) == "stale"


@pytest.mark.parametrize(("pause", "continues"), [(3, True), (9, False)])
def test_moving_to_a_document_name_takes_the_history_along_unless_a_save_follows(
    hand: Hand, pause: float, continues: bool
) -> None:
    file, _ = hand.document("a.txt", "x")
    hand.move(file, "a.bak.txt")
    hand.tick(pause)
    new = hand.file("a.txt", "y")
    hand.tick(60)
    assert hand.names.lineage_for(new)[1] == (2 if continues else 1)
    hand.mint(new)
    assert len(hand.names.versions(file)) == (0 if continues else 1)


def test_a_path_made_anew_long_after_its_removal_continues(hand: Hand) -> None:
    file, first = hand.document("a", "x")
    hand.remove(file)
    assert [version.doc_id for version in hand.names.versions(file)] == [first]
    hand.tick(10_000)
    new = hand.file("a", "y")
    second = hand.mint(new, "update")
    assert [version.doc_id for version in hand.names.versions(new)] == [first, second]
    elsewhere = hand.file("a", "z", hand.folder("d"))
    assert hand.names.lineage_for(elsewhere)[1] == 1


def test_a_file_that_has_versions_adopts_none(hand: Hand) -> None:
    gone, _ = hand.document("a", "x")
    file, doc_id = hand.document("b", "y")
    hand.remove(gone)
    hand.move(file, "a")
    hand.write(file, "z")
    assert hand.names.lineage_for(file)[1] == 2
    hand.mint(file)
    assert hand.names.versions(file)[0].doc_id == doc_id


def test_names_of_a_document_come_in_order_of_deposit(hand: Hand) -> None:
    one, doc_id = hand.document("b", "x")
    two = hand.file("a", "x")
    assert hand.mint(two) == doc_id
    assert [name.id for name in hand.names.names_of(doc_id)] == [one, two]
    assert hand.owed() == []
    hand.write(one, "y")
    assert [name.id for name in hand.names.names_of(doc_id)] == [one, two]
    hand.mint(one)
    assert [name.id for name in hand.names.names_of(doc_id)] == [two]
    newest = hand.names.version_of(doc_id)
    assert newest and newest[0].path == "a" and newest[1] and newest[1].id == two
    assert hand.at > 100 * SECOND


def test_a_backup_that_was_removed_long_after_its_making_counts_as_removed_from_its_first_place(hand: Hand) -> None:
    file, first = hand.document("a.txt", "x")
    hand.move(file, "a.txt~")
    hand.tick(60)
    hand.remove(file)
    hand.tick(60)
    new = hand.file("a.txt", "y")
    second = hand.mint(new, "update")
    assert [version.doc_id for version in hand.names.versions(new)] == [first, second]


def test_a_file_that_was_renamed_and_removed_leaves_its_first_name_free_of_history(hand: Hand) -> None:
    file, _ = hand.document("a.txt", "x")
    hand.move(file, "b.txt")
    hand.tick(60)
    hand.remove(file)
    hand.tick(60)
    assert hand.names.lineage_for(hand.file("a.txt", "y"))[1] == 1
    assert hand.names.lineage_for(hand.file("b.txt", "z"))[1] == 2
