"""Several journals on one ledger: one order everywhere, whoever did what when; and what becomes of what collides."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import cast

import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from kgfs.domain.documents import NameKind, StorageTier
from kgfs.domain.names import MAX_NAME_BYTES, decode_name, encode_name
from kgfs.errors import LostLeaseError
from kgfs.stores.catalog import facts as f
from kgfs.stores.catalog.conflicts import OVERWRITTEN
from kgfs.stores.catalog.encoding import decode
from kgfs.stores.catalog.sharing.rebase import NotKeptError
from kgfs.stores.catalog.sharing.unpublished import Tail
from kgfs.stores.catalog.sqlite import Catalog
from kgfs.stores.pending_uploads import waiting_key
from tests.support.catalog_building import Hand, folder_below, loops
from tests.support.catalog_life import OPS, SECOND, Life, tables


class Log:
    """A ledger, in memory."""

    def __init__(self) -> None:
        self.entries: list[bytes] = []
        self.kept: set[str] = set()
        """What the garage has, to wait there."""

    def put(self, catalog: Catalog) -> None:
        """Of what is not delivered that has not left by now: it is all that can be put."""
        tail = map(decode, catalog.unshipped(1 << 62)[1])
        for fact in [fact for fact in tail if isinstance(fact, f.ContentKept)]:
            name = catalog.names.name(fact.id)
            if name is not None and (name.sha256, name.place) == (fact.sha256, StorageTier.SPOOL):
                self.kept.add(waiting_key(fact.id, fact.sha256))

    def pull(self, catalog: Catalog) -> list[str]:
        self.put(catalog)
        first, _ = catalog.unshipped(1)
        entries = list(enumerate(self.entries[first - 1 :], first))
        while True:
            try:
                return catalog.follow(entries, self.kept)
            except NotKeptError as error:
                if not self.find(catalog, error.key):
                    raise
                self.kept.add(error.key)

    def find(self, catalog: Catalog, key: str) -> bool:
        """Whether that is what a name has that was settled: its bytes left for the garage, where they are found, though what
        settling made of it was overtaken and the tail goes on speaking of what was written."""
        for fact in map(decode, catalog.unshipped(1 << 62)[1]):
            name = catalog.names.name(fact.id) if isinstance(fact, f.ContentKept) else None
            if name is not None and name.place is StorageTier.GARAGE and waiting_key(name.id, name.sha256) == key:
                return True
        return False

    def deliver(self, catalog: Catalog, limit: int = 1000) -> list[str]:
        """One attempt: what others delivered comes first, if there is anything."""
        self.put(catalog)
        first, entries = catalog.unshipped(limit)
        if first - 1 == len(self.entries):
            self.entries += entries
        return self.pull(catalog)

    def time_out(self, catalog: Catalog, *, done: bool) -> list[str]:
        """An attempt whose end was not awaited, of which the catalog knows nothing: its newest content is withdrawn, which is
        told. Where the facts got to the ledger, all that could be put had been before: others may make a conflict of what
        was withdrawn."""
        first, entries = catalog.unshipped()
        contents = [fact for fact in map(decode, entries) if isinstance(fact, f.ContentKept)]
        if done and first - 1 == len(self.entries):
            self.put(catalog)
            self.entries += entries
        return [fact.sha256 for fact in contents[-1:] if catalog.withdraw(fact)]


class HomeLife(Life):
    """What programs do in one of several homes; see ``Life``."""

    def __init__(self, number: int) -> None:
        self.catalog = Catalog(None)
        self.catalog.share()
        self.first = self.catalog
        self.at = (10 + 3600 * number) * SECOND  # clocks an hour apart
        self.made = number << 40

    def claim(self, i: int, j: int, k: int) -> None:
        self.first.jobs.claim("worker", 3600)  # what the ledger does not have yet is not due


DOINGS = st.lists(
    st.tuples(
        st.integers(0, 2),
        st.sampled_from((*OPS, *["deliver"] * 10, *["pull"] * 4, "ontology_made", "time_out", "time_out")),
        *(st.integers(0, 11), st.integers(0, 11), st.integers(0, 3)),
    ),
    min_size=20,
    max_size=80,
)


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    phases=[Phase.reuse, Phase.generate],  # shrinking takes minutes
)
@given(DOINGS)
@pytest.mark.claim("SHARE-1")
def test_all_homes_come_to_the_same(doings: list[tuple[int, str, int, int, int]]) -> None:
    homes, log, again = [HomeLife(number) for number in range(3)], Log(), Catalog(None)
    try:
        for name in ("P", "Q"):
            homes[0].record(f.OntologyMade(f"ontology-{name}", name, name.lower(), homes[0].new_id(), 0o755, 0, 0, 9))
        log.deliver(homes[0].catalog)
        for home in homes:
            log.pull(home.catalog)
        for number, op, i, j, k in doings:
            home, before = homes[number], homes[number].catalog.seq()
            if op == "deliver":
                log.deliver(home.catalog, 1 + i)
            elif op == "pull":
                log.pull(home.catalog)
            elif op == "time_out":
                log.time_out(home.catalog, done=bool(i % 2))
            elif op == "ontology_made":
                made = f"ontology-{number}-{home.new_id()}"
                home.record(f.OntologyMade(made, "RST"[i % 3], made, home.new_id(), 0o755, 0, 0, home.at))
            elif home.first.names.ontologies():
                home.step(op, i, j, k)
            assert home.catalog.seq() >= before
        while any(home.catalog.unshipped()[1] for home in homes):
            for home in homes:
                log.deliver(home.catalog)
        for home in homes:
            log.pull(home.catalog)
        again.replay(iter(list(enumerate(log.entries, 1))))
        for home in homes:
            assert tables(home.catalog) == tables(again)
    finally:
        for home in homes:
            home.catalog.close()
        again.close()


class Writers(HomeLife):
    """Writes, saves by renaming, and renames; never removes. Every content is one of its own."""

    superseded: set[str]
    """Contents that were written over by one who saw them."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.written: set[str] = set()
        self.brought: set[str] = set()
        """Where settling put bytes, before it said so: they stay there though what was written is withdrawn after."""

    def record(self, *facts: f.Fact) -> None:
        self.brought |= {fact.key for fact in facts if isinstance(fact, f.VersionMinted)}
        super().record(*facts)

    def content(self, name_id: int, content: str) -> f.ContentKept:
        self.written.add(content)
        return super().content(name_id, content)

    def name_file(self, i: int, j: int) -> None:
        folder = self.pick(i, NameKind.FOLDER)
        made = f.FileMade(self.new_id(), folder.ontology, folder.id, "abc"[j % 3], 0o644, 1, 1, self.at)
        if self.first.names.child(folder.id, made.name) is None:
            self.record(made, self.content(made.id, f"content {made.id}"))

    def name_folder(self, i: int, j: int) -> None:
        folder = self.pick(i, NameKind.FOLDER)
        self.record(f.FolderMade(self.new_id(), folder.ontology, folder.id, "cd"[j % 2], 0o755, 1, 1, self.at))

    def write(self, i: int, j: int) -> None:
        if name := self.pick(i, NameKind.FILE):
            self.superseded.add(name.sha256)
            self.record(self.content(name.id, f"content {self.new_id()}"))

    def save(self, i: int, j: int) -> None:
        if name := self.pick(i, NameKind.FILE):
            self.superseded.add(name.sha256)
            made = f.FileMade(self.new_id(), name.ontology, name.parent, f"{self.made}.tmp", 0o644, 1, 1, self.at)
            self.record(made, self.content(made.id, f"content {made.id}"))
            self.record(f.Moved(made.id, name.ontology, name.parent, name.name, name.id, self.at))

    def rename(self, i: int, j: int) -> None:
        name, folder = self.pick(i), self.pick(j, NameKind.FOLDER)
        if name.parent:
            self.record(f.Moved(name.id, folder.ontology, folder.id, "abcd"[j % 4], 0, self.at))

    def mint(self, i: int, j: int) -> None:
        self.settle(i, j, 0)

    def held(self) -> set[str]:
        """Contents that can be read: of files, and of all their versions, of files in the trash too."""
        files = [name for name in self.all_names() if name.kind is NameKind.FILE]
        gone = self.first.names.trash()
        versions = [version.sha256 for name in (*files, *gone) for version in self.first.names.versions(name.id)]
        return {name.sha256 for name in files} | set(versions)

    def conflicts(self) -> set[str]:
        """Where the bytes of all conflicts are to be."""
        held = [*(name.id for name in self.all_names()), *(gone.id for gone in self.first.names.trash())]
        versions = [version for name_id in held for version in self.first.names.versions(name_id)]
        return {version.key for version in versions if version.decision == "conflict"}


WRITINGS = st.lists(
    st.tuples(
        st.integers(0, 2),
        st.sampled_from(
            (
                *("name_file", "name_file", "name_folder", "write", "write", "save", "rename", "mint", "deliver"),
                *("pull", "time_out"),
            )
        ),
        *(st.integers(0, 11), st.integers(0, 11)),
    ),
    min_size=20,
    max_size=80,
)


DELIVERED_UNHEARD = [
    (2, "name_file", 11, 6),
    (1, "name_file", 8, 11),
    (2, "name_file", 0, 5),
    (1, "rename", 11, 4),
    (2, "time_out", 5, 5),
    (1, "time_out", 4, 6),
]
"""Withdrawn, and yet delivered: what another home does then makes a conflict of it."""
SETTLED_THEN_WITHDRAWN = [
    (0, "name_file", 1, 5),
    (1, "name_file", 4, 3),
    (0, "rename", 11, 8),
    (0, "mint", 9, 2),
    (1, "time_out", 11, 3),
    (0, "pull", 10, 11),
    (0, "time_out", 2, 0),
]
"""Withdrawn after it was settled, and became a conflict."""
SETTLED_AND_OVERTAKEN = [
    (1, "name_file", 5, 6),
    (1, "mint", 9, 5),
    (1, "deliver", 11, 7),
    (2, "pull", 3, 3),
    (0, "name_file", 6, 9),
    (1, "rename", 1, 7),
    (2, "save", 9, 4),
    (2, "mint", 7, 6),
    (1, "deliver", 1, 7),
]
"""Settled, then its version did not fit, then its path was taken."""


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
)
@given(WRITINGS)
@example(DELIVERED_UNHEARD)
@example(SETTLED_THEN_WITHDRAWN)
@example(SETTLED_AND_OVERTAKEN)
@pytest.mark.claim("SHARE-3")
def test_no_content_is_lost_that_nobody_wrote_over(doings: list[tuple[int, str, int, int]]) -> None:
    """The bytes of every conflict are in the garage: where they waited, as they are put before a fact that speaks of them is
    delivered, be that heard or not; or where settling brought them before it said so, be what was written withdrawn after."""
    homes, log, superseded = [Writers(number) for number in range(3)], Log(), set[str]()
    try:
        homes[0].record(f.OntologyMade("ontology-P", "P", "p", homes[0].new_id(), 0o755, 0, 0, 9))
        log.deliver(homes[0].catalog)
        for home in homes:
            home.superseded = superseded
            log.pull(home.catalog)
        for number, op, i, j in doings:
            home = homes[number]
            if op in ("deliver", "pull"):
                getattr(log, op)(home.catalog)
            elif op == "time_out":
                home.written -= set(log.time_out(home.catalog, done=bool(i % 2)))
            else:
                getattr(home, op)(i, j)
        written = set[str]().union(*(home.written for home in homes))
        brought = set[str]().union(*(home.brought for home in homes))
        while any(home.catalog.unshipped()[1] for home in homes):
            for home in homes:
                log.deliver(home.catalog)
        for home in homes:
            log.pull(home.catalog)
            assert written - superseded <= home.held()
            assert home.conflicts() <= log.kept | brought
    finally:
        for home in homes:
            home.catalog.close()


# ------------------------------------------------------------------------------------------------ collisions


@dataclass
class Two:
    """Two homes that know the same, and their ledger."""

    here: Hand
    there: Hand
    log: Log

    def meet(self) -> list[str]:
        """What was done there is delivered first, then what was done here; what people here are told."""
        self.log.deliver(self.there.catalog)  # type: ignore[arg-type]
        told = self.log.pull(self.here.catalog)  # type: ignore[arg-type]
        told += self.log.deliver(self.here.catalog)  # type: ignore[arg-type]
        self.log.pull(self.there.catalog)  # type: ignore[arg-type]
        assert tables(self.here.catalog) == tables(self.there.catalog)  # type: ignore[arg-type]
        return told

    def minted_here(self) -> None:
        """The document ``dddd…`` at ``a.txt``, told to nobody yet."""
        name = self.here.file("a.txt", "words")
        row = self.here.names.name(name)
        assert row is not None
        minted = (1, "d" * 16, "words", row.size, "sources/p/x.txt", "id-P/a.txt", "a.txt", "insert", "new")
        self.here.record(f.VersionMinted(name, "id-P", *minted, self.here.tick()))

    def tree(self) -> dict[str, str]:
        """Paths below documents/ of P and their contents."""
        found: dict[str, str] = {}
        todo = [self.here.root]
        while todo:
            for child in self.here.names.children(todo.pop()):
                path = self.here.names.path(child.id) or ""
                found[path + "/" * (child.kind == "folder")] = child.sha256 or child.target
                todo.append(child.id)
        return found

    def history(self, path: str) -> list[tuple[str, str]]:
        """But for what was written over."""
        name = self.here.names.resolve("id-P", path)
        assert name is not None
        found = self.here.names.versions(name.id)
        return [(version.decision, version.sha256) for version in found if version.decision != OVERWRITTEN]

    def written_over(self, path: str) -> list[tuple[str, str]]:
        name = self.here.names.resolve("id-P", path)
        found = self.here.names.versions(name.id) if name else []
        return [(version.sha256, version.key) for version in found if version.decision == OVERWRITTEN]


@pytest.fixture
def two() -> Iterator[Two]:
    log, journals = Log(), [Catalog(None), Catalog(None)]
    for catalog in journals:
        catalog.share()
    here = Hand(journals[0], "here")
    log.deliver(journals[0])
    log.pull(journals[1])
    there = Hand.__new__(Hand)
    there.__dict__ |= here.__dict__ | {"catalog": journals[1], "names": journals[1].names, "session": "there"}
    yield Two(here, there, log)
    for catalog in journals:
        catalog.close()


@pytest.mark.claim("SHARE-4")
def test_folders_of_one_name_are_one(two: Two) -> None:
    two.there.file("a", "theirs", two.there.folder("docs"))
    ours = two.here.folder("docs")
    two.here.file("b", "ours", two.here.folder("deep", ours))
    assert two.meet() == []
    assert two.tree() == {"docs/": "", "docs/a": "theirs", "docs/deep/": "", "docs/deep/b": "ours"}
    assert two.here.names.united(ours) == two.here.names.resolve("id-P", "docs"), "who holds ours finds theirs"
    assert two.there.names.united(ours) is None, "nobody there ever saw it"


@pytest.mark.claim("SHARE-4")
def test_ontologies_of_one_name_are_one(two: Two) -> None:
    for hand in (two.there, two.here):
        root = hand.catalog.seq() << 30
        made = f.OntologyMade(f"id-R-{hand.session}", "R", f"r-{hand.session}", root, 0o755, 0, 0, hand.tick())
        hand.record(made)
        hand.file(f"of-{hand.session}", "x", root) if hand is two.there else hand.file("ours", "y", root)
        hand.tick()
    two.meet()
    (found,) = [one for one in two.here.names.ontologies() if one.name == "R"]
    assert [name.name for name in two.here.names.children(found.root)] == ["of-there", "ours"]


def test_of_two_files_of_one_name_the_first_delivered_is_current_and_the_other_a_conflict(two: Two) -> None:
    two.there.file("a", "theirs")
    two.here.file("a", "ours")
    (told,) = two.meet()
    assert "kgfs history" in told
    assert two.tree() == {"a": "theirs"}
    assert two.history("a") == [("conflict", "ours")]


def test_a_conflict_is_copied_back_by_writing_it(two: Two) -> None:
    two.there.file("a", "theirs")
    two.here.file("a", "ours")
    two.meet()
    name = two.here.names.resolve("id-P", "a")
    assert name is not None
    two.here.write(name.id, "ours")
    assert two.meet() == [] and two.tree() == {"a": "ours"}


@pytest.mark.claim("SHARE-3")
def test_the_same_bytes_twice_are_one_conflict(two: Two) -> None:
    """Of two homes that both came too late with them."""
    third = Catalog(None)
    third.share()
    two.log.pull(third)
    late = Hand.__new__(Hand)
    late.__dict__ |= two.here.__dict__ | {"catalog": third, "names": third.names, "session": "late"}
    name = two.there.file("a", "theirs")
    two.here.file("a", "ours")
    late.file("a", "ours")
    two.meet()
    (told,) = two.log.deliver(third)
    assert "kgfs history" in told
    while third.unshipped()[1]:
        two.log.deliver(third)
    two.meet()
    assert tables(third) == tables(two.here.catalog)  # type: ignore[arg-type]
    assert [(one.decision, one.sha256) for one in third.names.versions(name)] == [("conflict", "ours")]
    third.close()


@pytest.mark.claim("SHARE-3")
def test_bytes_that_are_a_conflict_no_more_are_one_again(two: Two) -> None:
    """The one that others made of them left with what they purged of the history."""
    old, doc_id = two.here.document("a", "old")
    two.meet()
    two.there.record(f.ConflictKept(old, "ours", 4, "inbox/theirs", "a", "why", two.there.tick()))
    two.there.write(old, "theirs")
    two.there.mint(old)
    two.there.record(f.ForgettingOwed("order", (), (doc_id,), "orphans", True, (), (), two.there.tick()))
    two.there.record(f.ForgettingDone("order", (doc_id,), "orphans", True, "commit", (), "redaction", two.there.tick()))
    two.here.write(old, "ours")
    two.meet()
    assert two.tree() == {"a": "theirs"} and two.history("a") == [("insert", "theirs"), ("conflict", "ours")]


@pytest.mark.claim("SHARE-3")
@pytest.mark.parametrize("saved", ["by renaming", "in place"])
def test_what_was_settled_and_overtaken_is_one_conflict_though_it_was_decided_again(two: Two, saved: str) -> None:
    """Others' facts came between twice: at first only the number of its version was taken."""
    old = two.here.file("a", "old")
    two.here.mint(old)
    two.meet()
    two.there.write(old, "theirs")
    two.there.mint(old)
    two.log.deliver(two.there.catalog)  # type: ignore[arg-type]
    two.log.pull(two.here.catalog)  # type: ignore[arg-type]
    two.there.record(f.ConflictKept(old, "third", 5, "inbox/third", "a", "why", two.there.tick()))
    ours = two.here.file("a.tmp", "ours") if saved == "by renaming" else old
    if saved == "by renaming":
        two.here.move(ours, "a", replaces=old)
    else:
        two.here.write(old, "ours")
    two.here.mint(ours)
    two.log.deliver(two.there.catalog)  # type: ignore[arg-type]
    two.log.pull(two.here.catalog)  # type: ignore[arg-type]
    tail = [decode(entry) for entry in two.here.catalog.unshipped()[1]]
    assert [fact.place for fact in tail if isinstance(fact, f.ContentKept)] == ["spool", "garage"], "decided again"
    two.there.write(old, "fourth")
    two.meet()
    assert two.tree() == {"a": "fourth"}
    assert two.history("a") == [("insert", "old"), ("insert", "theirs"), ("conflict", "third"), ("conflict", "ours")]


def test_the_same_bytes_twice_are_no_conflict(two: Two) -> None:
    two.there.file("a", "same")
    two.here.file("a", "same")
    assert two.meet() == [] and two.tree() == {"a": "same"} and two.history("a") == []


def test_a_file_made_empty_elsewhere_takes_what_is_written_here(two: Two) -> None:
    two.there.empty("a")
    two.here.file("a", "ours")
    assert two.meet() == [] and two.tree() == {"a": "ours"}


def test_writing_what_was_written_elsewhere_is_a_conflict_also_by_renaming_over(two: Two) -> None:
    for name in ("a", "b"):
        two.here.file(name, "old")
    two.meet()
    for name in ("a", "b"):
        held = two.there.names.resolve("id-P", name)
        assert held is not None
        two.there.write(held.id, "theirs")
    a, b = two.here.names.resolve("id-P", "a"), two.here.names.resolve("id-P", "b")
    assert a is not None and b is not None
    two.here.write(a.id, "ours, first")
    two.here.write(a.id, "ours")
    saved = two.here.file("b.tmp", "ours too")
    two.here.record(f.Moved(saved, "id-P", two.here.root, "b", b.id, two.here.tick()))
    assert len(two.meet()) == 2
    assert two.tree() == {"a": "theirs", "b": "theirs"}
    assert (two.history("a"), two.history("b")) == ([("conflict", "ours")], [("conflict", "ours too")])


def test_a_file_that_was_renamed_over_elsewhere_is_still_its_path(two: Two) -> None:
    old = two.here.file("a", "old")
    two.meet()
    saved = two.there.file("a.tmp", "theirs")
    two.there.record(f.Moved(saved, "id-P", two.there.root, "a", old, two.there.tick()))
    two.here.write(old, "ours")
    two.meet()
    assert two.tree() == {"a": "theirs"} and two.history("a") == [("conflict", "ours")]


@pytest.mark.claim("SHARE-4")
def test_what_is_written_here_follows_where_it_was_moved_elsewhere(two: Two) -> None:
    name = two.here.file("a", "old")
    two.meet()
    two.there.record(f.Moved(name, "id-P", two.there.folder("f"), "b", 0, two.there.tick()))
    two.here.write(name, "ours")
    assert two.meet() == [] and two.tree() == {"f/": "", "f/b": "ours"}


@pytest.mark.claim("SHARE-4")
def test_what_was_removed_elsewhere_and_written_here_is_kept(two: Two) -> None:
    plain, folder = two.here.file("a", "old"), two.here.folder("f")
    two.meet()
    for gone in (plain, folder):
        two.there.record(f.Removed(gone, two.there.tick()))
    two.here.write(plain, "ours")
    two.here.file("b", "ours too", folder)
    two.meet()
    assert two.tree() == {"a": "ours", "f/": "", "f/b": "ours too"}


@pytest.mark.claim("SHARE-4")
def test_what_was_written_elsewhere_is_not_removed_unseen(two: Two) -> None:
    name = two.here.file("a", "old")
    two.meet()
    two.there.write(name, "theirs")
    two.here.record(f.Removed(name, two.here.tick()))
    (told,) = two.meet()
    assert "stays" in told and two.tree() == {"a": "theirs"}


@pytest.mark.claim("SHARE-4")
@pytest.mark.parametrize("settled", [False, True])
def test_what_was_written_elsewhere_is_not_forgotten_unseen(two: Two, settled: bool) -> None:
    """What it was before is, where nothing speaks of it any more."""
    name, doc_id = two.here.document("a", "old")
    two.meet()
    two.there.write(name, "theirs")
    if settled:
        two.there.mint(name)
    two.here.record(f.ForgettingOwed("order", (name,), (doc_id,), "orphans", True, (), (), two.here.tick()))
    told = two.meet()
    assert two.tree() == {"a": "theirs"}
    assert [owed.doc_ids for owed in two.here.names.forgettings()] == ([(doc_id,)] if settled else [])
    assert settled or "another name" in told[0]


@pytest.mark.claim("SHARE-4")
@pytest.mark.parametrize("purge", [False, True])
def test_what_was_removed_elsewhere_does_not_keep_the_rest_from_being_forgotten(two: Two, purge: bool) -> None:
    (a, doc_a), (b, doc_b) = two.here.document("a", "one"), two.here.document("b", "two")
    two.meet()
    two.there.remove(b)
    owed = f.ForgettingOwed("order", (a, b), (doc_a, doc_b), "orphans", purge, (), (), two.here.tick())
    two.here.record(owed)
    assert two.meet() == [] and two.tree() == {}
    assert [set(forgetting.doc_ids) for forgetting in two.there.names.forgettings()] == [{doc_a, doc_b}]
    assert {row.id for row in two.there.names.trash()} == (set() if purge else {a, b})


@pytest.mark.claim("SHARE-4")
def test_what_was_purged_elsewhere_does_not_keep_the_rest_from_being_forgotten(two: Two) -> None:
    (a, doc_a), (b, doc_b) = two.here.document("a", "one"), two.here.document("b", "two")
    two.meet()
    two.there.record(f.ForgettingOwed("theirs", (b,), (doc_b,), "orphans", True, (), (), two.there.tick()))
    two.there.record(f.ForgettingDone("theirs", (doc_b,), "orphans", True, "c", (), "", two.there.tick()))
    owed = f.ForgettingOwed("order", (a, b), (doc_a, doc_b), "orphans", True, (), (), two.here.tick())
    two.here.record(owed)
    assert two.meet() == [] and two.tree() == {}
    assert [forgetting.doc_ids for forgetting in two.there.names.forgettings()] == [(doc_a,)]


@pytest.mark.claim("SHARE-4")
def test_names_of_different_kinds_stand_beside_one_another(two: Two) -> None:
    two.there.folder("x")
    two.here.file("x", "ours")
    two.meet()
    folder, file = sorted(two.tree(), key=len)
    assert (folder, file[:2]) == ("x/", "x~") and two.tree()[file] == "ours"


@pytest.mark.parametrize(
    "name", ["x." + "y" * 253, "é" * 127 + "%01", "%FF" * 255, "ü" * 100 + ".txt", ".x", "x" * 255]
)
def test_a_name_beside_another_is_never_too_long_and_one_that_programs_can_ask_for(two: Two, name: str) -> None:
    two.there.folder(name)
    two.here.file(name, "ours")
    two.meet()
    (beside,) = (one for one in two.tree() if not one.endswith("/"))
    raw = decode_name(beside)
    assert len(raw) <= MAX_NAME_BYTES and encode_name(raw) == beside and beside != name


@pytest.mark.claim("SHARE-2")
def test_what_was_withdrawn_and_yet_delivered_is_ones_own(two: Two) -> None:
    """What was done on it here since, knowing nothing of that, stays current, and makes no conflict."""
    names = [two.here.file(name, "old") for name in "abc"]
    two.meet()
    for name_id, content in zip(names, ("refused a", "refused b", "the same"), strict=True):
        two.here.write(name_id, content)
        assert two.log.time_out(two.here.catalog, done=content == "the same") == [content]  # type: ignore[arg-type]
    assert two.tree() == dict.fromkeys("abc", "old")
    two.here.write(names[0], "ours")
    two.here.write(names[2], "the same")
    two.there.file("d", "theirs")
    two.log.pull(two.there.catalog)  # type: ignore[arg-type]
    assert two.meet() == []
    assert two.tree() == {"a": "ours", "b": "old", "c": "the same", "d": "theirs"}
    assert two.here.names.versions(names[2]) == two.here.names.versions(names[0]) == []


@pytest.mark.claim("SHARE-2")
def test_what_was_withdrawn_and_delivered_and_written_over_elsewhere_is_overtaken(two: Two) -> None:
    name = two.here.file("a", "old")
    two.meet()
    two.here.write(name, "ours")
    two.log.time_out(two.here.catalog, done=True)  # type: ignore[arg-type]
    two.log.pull(two.there.catalog)  # type: ignore[arg-type]
    two.there.write(name, "theirs")
    assert two.meet() == [] and two.tree() == {"a": "theirs"}
    assert two.here.catalog._readers.mine().execute("SELECT count(*) FROM withdrawn").fetchone() == (0,)  # type: ignore[attr-defined]


def test_lock_files_in_passing_leave_nothing(two: Two) -> None:
    two.there.file(".a.swp", "theirs")
    two.here.record(f.Removed(two.here.file(".a.swp", "ours"), two.here.tick()))
    assert two.meet() == [] and two.tree() == {".a.swp": "theirs"}


def test_a_conflict_waits_for_its_bytes(two: Two) -> None:
    two.there.file("a", "theirs")
    ours = two.here.file("a", "ours")
    two.log.deliver(two.there.catalog)  # type: ignore[arg-type]
    before, catalog = two.here.catalog.seq(), two.here.catalog
    new = list(enumerate(two.log.entries, 1))
    with pytest.raises(NotKeptError):
        catalog.follow(new)
    assert catalog.seq() == before and two.tree() == {"a": "ours"}
    catalog.follow(new, {waiting_key(ours, "ours")})
    assert two.tree() == {"a": "theirs"}


@pytest.mark.claim("SHARE-3")
@pytest.mark.parametrize("then", ["saved again", "written again", "removed", "forgotten"])
def test_what_gave_way_before_it_was_delivered_waits_for_no_bytes(two: Two, then: str) -> None:
    """They are given up with it, whatever others did to the path meanwhile."""
    old = two.here.file("a", "old")
    two.meet()
    two.there.write(old, "theirs")
    first, kept, ours = two.here.file("a.tmp", "first"), set[str](), list[tuple[str, str]]()
    two.here.move(first, "a", replaces=old)
    if then == "removed":
        two.here.remove(first)
    elif then == "forgotten":
        two.here.record(f.ForgettingOwed("order", (first,), (), "orphans", False, (), (), two.here.tick()))
    else:
        second = two.here.file("a.tmp", "second") if then == "saved again" else first
        two.here.move(second, "a", replaces=first) if then == "saved again" else two.here.write(first, "second")
        kept, ours = {waiting_key(second, "second")}, [("conflict", "second")]
    two.log.deliver(two.there.catalog)  # type: ignore[arg-type]
    two.here.catalog.follow(list(enumerate(two.log.entries, 1)), kept)
    assert two.tree() == {"a": "theirs"} and two.history("a") == ours
    two.meet()


@pytest.mark.claim("SHARE-3")
@pytest.mark.parametrize("by", ["writing", "renaming over", "moving aside"])
@pytest.mark.parametrize("then", ["nothing", "it was settled", "it was written again"])
def test_what_another_host_has_not_settled_becomes_a_version_before_it_is_written_over(
    two: Two, by: str, then: str
) -> None:
    old = two.here.file("a", "old")
    two.meet()
    if by == "writing":
        two.there.write(old, "theirs")
    elif by == "renaming over":
        two.there.move(two.there.file("a.tmp", "theirs"), "a", replaces=old)
    else:
        two.there.move(old, "a~")
        two.there.file("a", "theirs")
    if then == "it was settled":
        minted = (1, "d" * 16, "old", 3, "sources/p/x", "id-P/a", "a", "insert", "new")
        two.here.record(f.VersionMinted(old, "id-P", *minted, two.here.tick()))
    elif then == "it was written again":
        two.here.write(old, "newer")
    two.log.deliver(two.here.catalog)  # type: ignore[arg-type]
    two.log.pull(two.there.catalog)  # type: ignore[arg-type]
    two.meet()
    kept = [(sha256, key) for path in two.tree() for sha256, key in two.written_over(path)]
    assert kept == ([("old", waiting_key(old, "old"))] if then == "nothing" else [])


@pytest.mark.claim("SHARE-4")
@pytest.mark.parametrize("elsewhere", ["its place was moved", "it was removed"])
def test_what_gave_way_to_a_move_that_is_not_carried_out_is_what_it_was_before(two: Two, elsewhere: str) -> None:
    name, other = two.here.file("a", "old"), two.here.file("b", "other")
    two.meet()
    two.there.move(name, "c") if elsewhere == "its place was moved" else two.there.remove(other)
    two.here.write(name, "given up")
    two.here.move(other, "a", replaces=name)
    two.log.deliver(two.there.catalog)  # type: ignore[arg-type]
    two.here.catalog.follow(list(enumerate(two.log.entries, 1)), ())
    assert two.tree() == ({"a": "other", "c": "old"} if elsewhere == "its place was moved" else {"a": "old"})
    two.meet()


@pytest.mark.claim("SHARE-4")
@pytest.mark.parametrize("content", ["given up", ""])
def test_a_save_of_a_new_file_whose_name_became_a_folder_elsewhere_leaves_none_whose_bytes_nobody_has(
    two: Two, content: str
) -> None:
    two.there.folder("a")
    name = two.here.file("a", content)
    saved = two.here.file("a.tmp", "ours")
    two.here.move(saved, "a", replaces=name)
    two.log.deliver(two.there.catalog)  # type: ignore[arg-type]
    two.here.catalog.follow(list(enumerate(two.log.entries, 1)), {waiting_key(saved, "ours")})
    tree = two.tree()
    assert sorted(tree.values()) == ["", "ours"] and len(tree) == 2, "the folder, and one file beside it"
    two.meet()


@pytest.mark.claim("SHARE-4")
def test_a_new_file_that_gave_way_to_what_was_removed_elsewhere_is_empty(two: Two) -> None:
    """Nobody has its bytes any more."""
    other = two.here.file("b", "other")
    two.meet()
    two.there.remove(other)
    two.here.move(other, "a", replaces=two.here.file("a", "given up"))
    two.log.deliver(two.there.catalog)  # type: ignore[arg-type]
    two.here.catalog.follow(list(enumerate(two.log.entries, 1)), ())
    assert two.tree() == {"a": ""}
    two.meet()


def test_what_was_saved_through_another_hosts_file_is_found_where_it_waits(two: Two) -> None:
    """The temporary file of one program, made by it on both at once."""
    old = two.here.file("a", "old")
    two.meet()
    two.there.empty("a.tmp")
    two.there.write(old, "theirs")
    saved = two.here.file("a.tmp", "ours")
    two.here.move(saved, "a", replaces=old)
    two.meet()
    *_, version = two.here.names.versions(old)
    assert (version.decision, version.key) == ("conflict", waiting_key(saved, "ours"))


def test_bytes_that_nobody_has_any_more_are_told_and_hold_up_nothing(two: Two) -> None:
    two.there.file("a", "theirs")
    two.there.file("b.tmp", "theirs")
    ours = two.here.file("a", "ours")
    two.log.deliver(two.there.catalog)  # type: ignore[arg-type]
    before, key = two.here.catalog.seq(), waiting_key(ours, "ours")
    (told,) = two.here.catalog.follow(list(enumerate(two.log.entries, 1)), (), {key})
    assert "a: " in told and "lost" in told
    assert two.here.catalog.seq() > before and two.tree() == {"a": "theirs", "b.tmp": "theirs"}
    two.meet()


def test_who_followed_the_feed_into_what_was_renumbered_looks_anew(two: Two) -> None:
    known = two.here.catalog.seq()
    two.here.file("b", "ours")
    followed = two.here.catalog.seq()
    two.there.file("a", "theirs")
    two.meet()
    assert two.here.catalog.facts(followed) is None
    assert [type(fact).__name__ for _, fact in two.here.catalog.facts(known) or ()] == ["FileMade", "ContentKept"] * 2
    assert two.here.catalog.facts(two.here.catalog.seq()) == []


def test_what_is_delivered_costs_as_much_however_much_is_not_delivered_yet(two: Two) -> None:
    """Else a tail that is delivered portion after portion costs the square of what it has."""
    catalog = cast(Catalog, two.here.catalog)

    def portion() -> None:
        first, entries = catalog.unshipped(10)
        catalog.follow(list(enumerate(entries, first)))
        assert catalog.confirmed() == first + 9

    def behind(facts: int) -> int:
        catalog.record(*(folder_below(two.here.root, f"{catalog.seq()}-{number}") for number in range(facts)))
        return loops(catalog, portion)

    few = behind(100)
    assert few > 10 and behind(2000) < few + 100


def test_what_was_made_and_removed_in_passing_is_known_without_looking_at_all_that_was() -> None:
    """It is asked about each name that was made."""
    made = [f.FolderMade(number, "id-P", 1, f"{number}", 0o755, 0, 0, 1) for number in range(2, 2002)]
    tail = Tail([*made, *(f.Removed(fact.id, 2) for fact in made[:-1])])
    tracemalloc.start()
    try:
        asked = [tail.in_passing(fact.id) for fact in made[-2:]]
        _, memory = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert asked == [True, False] and memory < 10_000


def test_what_others_had_overtaken_is_told_of_once_though_a_portion_before_it_was_delivered(two: Two) -> None:
    name = two.here.file("a", "old")
    two.meet()
    two.there.write(name, "theirs")
    two.meet()
    two.here.folder("before")
    two.here.record(f.ContentKept(name, "late", 4, StorageTier.SPOOL, "s", 7, two.here.tick(), base="old"))
    told = two.log.deliver(two.here.catalog, 1)  # type: ignore[arg-type]
    told += two.here.catalog.follow([], two.log.kept)  # before that portion is delivered
    assert ["kgfs history" in line for line in told] == [True]
    assert two.tree() == {"a": "theirs", "before/": ""} and two.history("a") == [("conflict", "late")]
    assert two.meet() == []


def test_a_fact_that_was_not_accepted_is_taken_back(two: Two) -> None:
    name = two.here.file("a", "old")
    fact = f.ContentKept(name, "new", 3, StorageTier.SPOOL, "s", 7, two.here.tick())
    two.here.record(fact)
    seq = two.here.catalog.seq()
    assert two.here.catalog.withdraw(fact) and not two.here.catalog.withdraw(fact)
    assert two.tree() == {"a": "old"} and two.here.catalog.seq() > seq
    assert two.meet() == [] and two.tree() == {"a": "old"}


def test_a_fact_is_taken_back_beside_one_that_others_had_overtaken(two: Two) -> None:
    """What becomes of that one waits for who knows what the garage has."""
    a, b = two.here.file("a", "old"), two.here.file("b", "old")
    two.meet()
    two.there.write(a, "theirs")
    two.meet()
    two.here.record(f.ContentKept(a, "late", 4, StorageTier.SPOOL, "s", 7, two.here.tick(), base="old"))
    refused = f.ContentKept(b, "refused", 7, StorageTier.SPOOL, "s", 7, two.here.tick())
    two.here.record(refused)
    assert two.here.catalog.withdraw(refused)
    assert two.tree() == {"a": "late", "b": "old"} and two.history("a") == []
    (told,) = two.meet()
    assert "kgfs history" in told
    assert two.tree() == {"a": "theirs", "b": "old"} and two.history("a") == [("conflict", "late")]


def test_what_a_graph_of_its_own_decided_by_nothing_is_late_as_well(two: Two) -> None:
    """One that is new, and had no fact of the ledger yet."""
    two.minted_here()
    two.meet()
    forgotten = f.DocumentForgotten("d" * 16, "none", "commit", two.here.tick())
    two.here.record(replace(forgotten, follows=0))
    assert two.here.catalog.withdraw(replace(forgotten, follows=0))
    two.there.record(forgotten)
    two.meet()
    with pytest.raises(LostLeaseError):
        two.here.record(replace(forgotten, follows=0))
    two.here.record(forgotten)


@pytest.mark.claim("SHARE-6")
def test_only_confirmed_work_is_handed_out(two: Two) -> None:
    two.minted_here()
    assert two.here.catalog.jobs.claim("w", 60) is None and two.here.catalog.jobs.owed() == 1
    two.meet()
    job = two.here.catalog.jobs.claim("w", 60)
    assert job is not None and job.doc_id == "d" * 16


def test_what_the_ledger_has_is_trimmed_but_the_newest_and_what_it_has_not(
    two: Two, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kgfs.stores.catalog.sqlite.KEPT_ENTRIES", 10)
    for i in range(12):
        two.here.file(f"h{i}", "ours")
    for i in range(12):
        two.there.file(f"t{i}", "theirs")
    assert len(two.here.catalog.unshipped()[1]) == 24
    two.meet()
    for catalog in (two.here.catalog, two.there.catalog):
        newest = catalog.seq()
        assert newest == len(two.log.entries)
        assert catalog.facts(newest - 11) is None
        assert [seq for seq, _ in catalog.facts(newest - 10) or ()] == list(range(newest - 9, newest + 1))
    for i in range(12):  # more than are kept, and all of what the ledger has goes
        two.here.file(f"more{i}", "ours")
    two.there.file("first", "theirs")
    two.meet()
    two.here.file("last", "ours")
    two.meet()
    assert len(two.tree()) == 38
