"""The contract of a catalog's documents, jobs, inbox and feed (SQLite and in memory alike)."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace

import pytest

from kgfs.domain.documents import State
from kgfs.domain.identity import new_id
from kgfs.errors import BadInputError, ExistsError, LostLeaseError, MissingError, StoreError
from kgfs.stores.catalog import facts as f
from kgfs.stores.catalog.encoding import decode, encode
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


# ------------------------------------------------------------------------------------------------ documents


def test_a_version_that_owes_a_reading_makes_a_queued_document(catalog: Catalog, hand: Hand) -> None:
    file = hand.file("a", "x")
    doc_id = hand.mint(file)
    found = hand.names.document(doc_id)
    assert found is not None
    assert (found.ontology, found.sha256, found.source_id, found.key, found.size) == ("id-P", "x", "id-P/a", "key-x", 1)
    assert (found.state, found.deposited_at, found.deposit) == (State.QUEUED, hand.at, catalog.seq())
    (job,) = catalog.jobs.all()
    assert (job.kind, job.doc_id, job.ontology, job.deposit) == ("read", doc_id, "id-P", catalog.seq())
    assert (job.state, job.attempts, job.not_before) == ("queued", 0, 0)
    assert hand.names.document_with("id-P", "x") == found and hand.names.document_with("id-Q", "x") is None
    assert hand.names.document("none") is None


@pytest.mark.parametrize("decision", ["insert", "update", "reprocess", "revive"])
def test_decisions_that_owe_a_reading(hand: Hand, decision: str) -> None:
    _, doc_id = hand.document("a", "x")
    other = hand.file("b", "x")
    assert hand.mint(other, decision) == doc_id
    assert hand.owed() == [("read", doc_id)] and hand.state(doc_id) == "queued"


@pytest.mark.parametrize("decision", ["alias", "in_progress"])
def test_decisions_that_owe_none(hand: Hand, decision: str) -> None:
    first = hand.file("a", "x")
    doc_id = hand.mint(first)
    job = hand.owed()
    hand.mint(hand.file("b", "x"), decision)
    assert hand.owed() == job == [("read", doc_id)]
    hand.read(doc_id)
    hand.mint(hand.file("c", "x"), decision)
    assert hand.owed() == [] and hand.state(doc_id) == "done"


def test_what_was_decided_stands_with_the_version_and_with_the_name(hand: Hand) -> None:
    file = hand.file("a", "x")
    assert (hand.row(file).decision, hand.row(file).reason) == ("", "")
    hand.mint(file)
    (first,) = hand.names.versions(file)
    assert (first.decision, first.reason) == ("insert", "why")
    assert (hand.row(file).decision, hand.row(file).reason) == ("insert", "why")
    hand.write(file, "x")
    hand.settle(file)
    assert (hand.row(file).decision, hand.row(file).reason) == ("skip", "no version")
    assert hand.names.versions(file) == [first]
    hand.write(file, "y")
    hand.mint(file, "update")
    assert [version.decision for version in hand.names.versions(file)] == ["insert", "update"]


def test_a_document_knows_when_a_name_came_or_left(hand: Hand) -> None:
    def named_at() -> int:
        found = hand.names.document(doc_id)
        assert found is not None
        return found.named_at

    first, doc_id = hand.document("a", "x")
    before = named_at()
    assert before < hand.at, "the reading changed no name"
    second = hand.file("b", "x")
    assert named_at() == before
    hand.mint(second)
    assert named_at() == hand.at
    hand.move(second, "c")
    assert before < named_at() < hand.at, "a rename is told by the name itself"
    for name in (first, second):
        hand.remove(name)
        assert named_at() == hand.at


@pytest.mark.parametrize("state", ["done", "gated"])
def test_a_published_reading_ends_its_job(hand: Hand, state: str) -> None:
    doc_id = hand.mint(hand.file("a", "x"))
    hand.read(doc_id, state=state)
    found = hand.names.document(doc_id)
    assert found and (found.state, found.reading, found.decisions, found.commit_id) == (
        *(State(state), f"r-{doc_id}", "d"),
        f"c-{doc_id}",
    )
    assert hand.owed() == []


@pytest.mark.parametrize("state", ["failed", "unsupported"])
def test_a_failed_reading_ends_its_job_and_says_why(hand: Hand, state: str) -> None:
    doc_id = hand.mint(hand.file("a", "x"))
    hand.fail(doc_id, state)
    found = hand.names.document(doc_id)
    assert found and (found.state, found.reason) == (State(state), "because")
    assert hand.owed() == []


def test_the_last_name_gone_is_forgotten_after_two_seconds(catalog: Catalog, hand: Hand) -> None:
    one, doc_id = hand.document("a", "x")
    two = hand.file("b", "x")
    hand.mint(two)
    hand.remove(one)
    assert hand.owed() == [] and hand.state(doc_id) == "done"
    hand.remove(two)
    (job,) = catalog.jobs.all()
    assert (job.kind, job.doc_id, job.deposit) == ("forget", doc_id, catalog.seq())
    assert job.not_before == hand.at + 2 * SECOND
    found = hand.names.document(doc_id)
    assert found and found.state == "trashed" and found.removed_at == hand.at
    assert hand.names.version_of(doc_id) == (hand.names.versions(two)[0], None)
    hand.forget(doc_id)
    found = hand.names.document(doc_id)
    assert hand.owed() == [] and found and found.state == "trashed"
    assert found.reading == f"r-{doc_id}" and found.commit_id == ""


def test_a_name_gained_again_owes_no_forgetting(hand: Hand) -> None:
    file, doc_id = hand.document("a", "x")
    hand.remove(file)
    hand.mint(hand.file("b", "x"))
    found = hand.names.document(doc_id)
    assert hand.owed() == [] and found and found.state == "done" and found.removed_at == 0


def test_a_document_never_read_loses_its_job_with_its_name(hand: Hand) -> None:
    file = hand.file("a", "x")
    doc_id = hand.mint(file)
    hand.remove(file)
    assert hand.owed() == [] and hand.state(doc_id) == "trashed"


def test_what_is_read_after_its_last_name_went_is_forgotten(hand: Hand) -> None:
    file = hand.file("a", "x")
    doc_id = hand.mint(file)
    hand.remove(file)
    hand.read(doc_id)
    assert hand.owed() == [("forget", doc_id)] and hand.state(doc_id) == "trashed"


def test_what_was_forgotten_while_it_got_a_name_is_read_again(hand: Hand) -> None:
    file, doc_id = hand.document("a", "x")
    hand.remove(file)
    hand.mint(hand.file("b", "x"))
    hand.forget(doc_id)
    assert hand.owed() == [("read", doc_id)] and hand.state(doc_id) == "queued"


def test_a_predecessor_is_stale_until_its_successor_is_published(hand: Hand) -> None:
    file, first = hand.document("a", "x")
    hand.write(file, "y")
    second = hand.mint(file, "update")
    assert hand.state(first) == "stale" and hand.owed() == [("read", second)]
    assert hand.names.predecessors(second) == [first]
    hand.read(second, first)
    found = hand.names.document(first)
    assert found and found.state == "kept" and found.commit_id == ""
    assert hand.names.predecessors(second) == [] and hand.owed() == []


def test_a_predecessor_stays_stale_while_its_successor_cannot_be_read(hand: Hand) -> None:
    file, first = hand.document("a", "x")
    hand.write(file, "y")
    second = hand.mint(file, "update")
    hand.fail(second, "unsupported")
    assert hand.state(first) == "stale" and hand.owed() == []
    hand.write(file, "z")
    third = hand.mint(file, "update")
    assert hand.names.predecessors(third) == [first] and hand.state(second) == "kept"
    hand.remove(file)
    assert hand.owed() == [("forget", first)] and hand.state(third) == "trashed"


def test_a_predecessor_whose_successor_needs_no_reading_is_forgotten(hand: Hand) -> None:
    file, first = hand.document("a", "x")
    _, second = hand.document("b", "y")
    hand.write(file, "y")
    assert hand.mint(file, "alias") == second
    assert hand.owed() == [("forget", first)] and hand.state(first) == "kept"
    hand.forget(first)
    assert hand.owed() == [] and hand.state(first) == "kept"


def test_a_forgetting_that_is_owed_already_is_not_put_off(catalog: Catalog, hand: Hand) -> None:
    file, first = hand.document("a", "x")
    for name, content in (("b", "y"), ("c", "z")):
        hand.document(name, content)
        hand.write(file, content)
        hand.mint(file, "alias")
        if name == "b":
            owed = catalog.jobs.all()
    assert catalog.jobs.all() == owed and hand.owed() == [("forget", first)]


def test_a_predecessor_that_another_path_names_stays(hand: Hand) -> None:
    file, first = hand.document("a", "x")
    hand.mint(hand.file("b", "x"))
    hand.write(file, "y")
    second = hand.mint(file, "update")
    assert hand.names.predecessors(second) == [] and hand.state(first) == "done"


def test_a_predecessor_is_found_where_the_path_only_had_another_name_for_it(hand: Hand) -> None:
    one, first = hand.document("a", "x")
    two = hand.file("b", "x")
    hand.mint(two)
    hand.remove(one)
    hand.write(two, "y")
    second = hand.mint(two, "update")
    assert (
        hand.names.predecessors(second) == [first]
        and hand.state(first) == "stale"
        and hand.owed() == [("read", second)]
    )


def test_a_predecessor_waits_again_when_its_successor_is_read_again(hand: Hand) -> None:
    file, first = hand.document("a", "x")
    _, second = hand.document("b", "y")
    hand.write(file, "y")
    hand.mint(file, "alias")
    assert hand.owed() == [("forget", first)]
    hand.mint(hand.file("c", "y"), "reprocess")
    assert hand.owed() == [("read", second)] and hand.state(first) == "stale"


def test_a_predecessor_is_forgotten_when_its_successor_is_written_over(hand: Hand) -> None:
    file, first = hand.document("a", "x")
    hand.write(file, "y")
    second = hand.mint(file, "update")
    goal, _ = hand.document("b", "z")
    hand.move(file, "b", replaces=goal)
    assert hand.owed() == [("forget", first)] and hand.state(second) == "trashed"


def test_a_predecessor_is_forgotten_when_its_path_leaves_the_ontology(hand: Hand) -> None:
    other = hand.ontology("Q")
    folder = hand.folder("d")
    file, first = hand.document("a", "x", folder)
    hand.write(file, "y")
    second = hand.mint(file, "update")
    hand.move(folder, "d", other)
    assert hand.owed() == [("forget", first)] and hand.state(second) == "kept"
    hand.settle(file)
    assert hand.row(file).doc_id == "" and hand.owed() == [("forget", first)]


def test_back_to_earlier_bytes_is_no_cycle(hand: Hand) -> None:
    file, first = hand.document("a", "x")
    hand.write(file, "y")
    second = hand.mint(file, "update")
    hand.write(file, "x")
    assert hand.mint(file, "alias") == first
    assert hand.state(first) == "done" and hand.state(second) == "kept" and hand.owed() == []
    assert [version.doc_id for version in hand.names.versions(file)] == [first, second, first]
    found = hand.names.version_of(first)
    assert found and found[0].n == 3


def test_emptying_a_file_takes_its_document_away(hand: Hand) -> None:
    file, doc_id = hand.document("a", "x")
    hand.write(file, "")
    assert hand.owed() == []
    hand.settle(file)
    row = hand.row(file)
    assert (row.doc_id, row.version) == ("", 1) and hand.owed() == [("forget", doc_id)]
    assert hand.names.lineage_for(file)[1] == 2


def test_documents_are_counted_by_state_and_listed_in_pages(catalog: Catalog, hand: Hand) -> None:
    ids = [hand.mint(hand.file(name, content)) for name, content in zip("abcd", "vwxy", strict=True)]
    elsewhere = hand.mint(hand.file("a", "v", hand.ontology("Q")))
    assert not hand.names.any_read()
    hand.read(ids[0])
    hand.fail(ids[1])
    assert hand.names.any_read()
    assert dict(hand.names.counts("id-P")) == {State.DONE: 1, State.FAILED: 1, State.QUEUED: 2}
    assert dict(hand.names.counts()) == {State.DONE: 1, State.FAILED: 1, State.QUEUED: 3}
    job = catalog.jobs.claim("w", 60)
    assert job and hand.state(job.doc_id) == "working"
    assert dict(hand.names.counts("id-P")) == {State.DONE: 1, State.FAILED: 1, State.QUEUED: 1, State.WORKING: 1}
    assert [document.doc_id for document in hand.names.documents("id-P")] == sorted(ids)
    assert [document.doc_id for document in hand.names.documents("id-P", after=sorted(ids)[1], limit=1)] == [
        sorted(ids)[2]
    ]
    assert [document.doc_id for document in hand.names.newest("id-P", 2)] == [ids[3], ids[2]]
    assert [document.doc_id for document in hand.names.newest("id-Q")] == [elsewhere]


# ---------------------------------------------------------------------------------------------------- jobs


def test_jobs_are_handed_out_in_order_of_deposit_to_one_each(catalog: Catalog, hand: Hand) -> None:
    ids = [hand.mint(hand.file(name, name)) for name in "abc"]
    assert [job.doc_id for job in catalog.jobs.all()] == ids and catalog.jobs.owed() == 3
    claimed = [catalog.jobs.claim(worker, 60) for worker in ("w1", "w2", "w3")]
    assert [job.doc_id for job in claimed if job] == ids
    assert [(job.worker, job.attempts, job.state) for job in claimed if job][1] == ("w2", 1, "working")
    assert catalog.jobs.claim("w4", 60) is None and catalog.jobs.owed() == 3


@pytest.mark.parametrize("counted", [True, False])
def test_what_a_dead_worker_held_is_due_at_once_and_in_its_order(catalog: Catalog, hand: Hand, counted: bool) -> None:
    ids = [hand.mint(hand.file(name, name)) for name in "abc"]
    held = [catalog.jobs.claim("w1", 3600) for _ in range(2)]
    assert [job.attempts for job in held if job] == [1, 1]
    assert catalog.jobs.free(counted=counted) == 2
    assert [(job.doc_id, job.state, job.worker, job.attempts) for job in catalog.jobs.all()] == [
        (ids[0], "queued", "", int(counted)), (ids[1], "queued", "", int(counted)), (ids[2], "queued", "", 0),
    ]  # fmt: skip
    again = catalog.jobs.claim("w2", 60)
    assert again and again.doc_id == ids[0]


def test_a_lease_that_ran_out_is_given_to_the_next(catalog: Catalog, hand: Hand) -> None:
    hand.mint(hand.file("a", "x"))
    first = catalog.jobs.claim("w1", 0.0)
    assert first
    catalog.jobs.renew(first, 0.0, "parse", 0.5)
    assert [(job.stage, job.progress) for job in catalog.jobs.all()] == [("parse", 0.5)]
    second = catalog.jobs.claim("w2", 60)
    assert second and (second.doc_id, second.attempts, second.stage) == (first.doc_id, 2, "")
    with pytest.raises(LostLeaseError):
        catalog.jobs.renew(first, 60)
    catalog.jobs.drop(first)
    catalog.jobs.put_back(first, "late", 0)
    assert [(job.worker, job.state) for job in catalog.jobs.all()] == [("w2", "working")]
    catalog.jobs.renew(second, 60, "chunk", 0.1)


def test_a_lease_ends_with_what_was_owed(catalog: Catalog, hand: Hand) -> None:
    file = hand.file("a", "x")
    hand.mint(file)
    job = catalog.jobs.claim("w", 60)
    hand.remove(file)
    assert job
    with pytest.raises(LostLeaseError):
        catalog.jobs.renew(job, 60)


def test_a_job_put_back_waits_and_keeps_its_attempts(catalog: Catalog, hand: Hand) -> None:
    doc_id = hand.mint(hand.file("a", "x"))
    job = catalog.jobs.claim("w", 60)
    assert job
    catalog.jobs.put_back(job, "no memory", 3600)
    (waiting,) = catalog.jobs.all()
    assert (waiting.state, waiting.reason, waiting.attempts, waiting.worker) == ("queued", "no memory", 1, "")
    assert hand.state(doc_id) == "queued" and catalog.jobs.claim("w", 60) is None
    catalog.jobs.owe("read", doc_id)
    again = catalog.jobs.claim("w", 60)
    assert again and again.attempts == 2
    catalog.jobs.put_back(again, "again", 0)
    assert catalog.jobs.claim("w", 60)


def test_a_job_can_be_owed_by_hand_once(catalog: Catalog, hand: Hand) -> None:
    doc_id = hand.mint(hand.file("a", "x"))
    hand.fail(doc_id)
    catalog.jobs.owe("read", doc_id)
    catalog.jobs.owe("read", doc_id, 1 << 62)
    assert hand.owed() == [("read", doc_id)] and hand.state(doc_id) == "queued"
    assert catalog.jobs.claim("w", 60) is None
    with pytest.raises(MissingError):
        catalog.jobs.owe("read", "none")
    with pytest.raises(BadInputError):
        catalog.jobs.owe("paint", doc_id)


def test_a_dropped_job_is_gone(catalog: Catalog, hand: Hand) -> None:
    doc_id = hand.mint(hand.file("a", "x"))
    hand.fail(doc_id)
    catalog.jobs.owe("read", doc_id)
    job = catalog.jobs.claim("w", 60)
    assert job
    catalog.jobs.drop(job)
    assert catalog.jobs.owed() == 0 and hand.state(doc_id) == "failed"


# ----------------------------------------------------------------------------------------- inbox, feed, ledger


def test_small_contents_stay_in_the_inbox_while_a_name_needs_them(catalog: Catalog, hand: Hand) -> None:
    file = hand.empty("a")
    kept = f.ContentKept(file, "x", 3, "inbox", "", 1, hand.tick())
    catalog.record(kept, inbox={"x": b"abc", "left": b"over"})
    catalog.record(inbox={"x": b"abc"})
    catalog.drop_inbox(["x", "left", "none"])
    assert catalog.inbox("x") == b"abc" and catalog.inbox("left") is None
    hand.mint(file)
    catalog.drop_inbox(["x"])
    assert catalog.inbox("x") is None


def test_a_refused_call_leaves_nothing_in_the_inbox(catalog: Catalog, hand: Hand) -> None:
    hand.empty("a")
    with pytest.raises(ExistsError):
        catalog.record(f.FileMade(new_id(), "id-P", hand.root, "a", 0, 0, 0, 1), inbox={"x": b"abc"})
    assert catalog.inbox("x") is None


def test_the_feed_gives_facts_in_order(catalog: Catalog, hand: Hand) -> None:
    before = catalog.seq()
    first = f.FileMade(new_id(), "id-P", hand.root, "a", 0o644, 0, 0, 1)
    second = f.AttributesSet(first.id, 2, mtime=7)
    assert catalog.record(first, second) == before + 2 == catalog.seq()
    assert catalog.facts(before) == [(before + 1, first), (before + 2, second)]
    assert catalog.facts(before, limit=1) == [(before + 1, first)]
    assert catalog.facts(catalog.seq()) == []
    assert catalog.facts(catalog.seq() + 1) is None


def test_entries_are_shipped_from_the_oldest(catalog: Catalog, hand: Hand) -> None:
    hand.empty("a")
    first, entries = catalog.unshipped()
    assert first == 1 and [type(decode(entry)) for entry in entries] == [f.OntologyMade, f.FileMade]
    catalog.shipped(1)
    assert catalog.unshipped() == (2, entries[1:])
    catalog.shipped(2)
    catalog.shipped(1)
    catalog.shipped(99)
    assert catalog.unshipped() == (3, [])
    hand.empty("b")
    assert catalog.unshipped(1)[0] == 3 and len(catalog.unshipped()[1]) == 1


def test_polling_tells_of_each_commit_once(catalog: Catalog, hand: Hand) -> None:
    catalog.changed()
    assert not catalog.changed()
    hand.empty("a")
    assert catalog.changed() and not catalog.changed()


def test_a_replay_gives_the_same_answers(catalog: Catalog, hand: Hand) -> None:
    file, first = hand.document("a", "x")
    hand.write(file, "y")
    hand.mint(file, "update")
    hand.document("gone", "z")
    catalog.jobs.claim("w", 60)
    _, entries = catalog.unshipped()
    again = Catalog(None)
    assert again.replay(iter(enumerate(entries, 1))) == len(entries)
    assert again.seq() == catalog.seq() and again.unshipped()[1] == []
    assert again.names.name(file) == catalog.names.name(file)
    assert again.names.versions(file) == catalog.names.versions(file)
    assert again.names.document(first) == catalog.names.document(first)
    unheld = [replace(job, attempts=0, state="queued", worker="", lease_until=0) for job in catalog.jobs.all()]
    assert again.jobs.all() == unheld
    with pytest.raises(StoreError):
        again.replay(iter(enumerate(entries, 1)))
    again.close()


@pytest.mark.parametrize("entries", [[(1, b'{"fact":"FromTheFuture"}')], [(1, b"torn")]])
def test_a_replay_stops_at_what_it_does_not_know(catalog: Catalog, entries: list[tuple[int, bytes]]) -> None:
    with pytest.raises(StoreError):
        catalog.replay(iter(entries))
    assert catalog.seq() == 0


def test_a_replay_stops_at_a_gap(catalog: Catalog) -> None:
    made = [encode(f.OntologyMade(name, name, name, new_id(), 0, 0, 0, 1)) for name in ("a", "b", "c")]
    with pytest.raises(StoreError):
        catalog.replay(iter([(1, made[0]), (3, made[2])]))
    assert catalog.names.ontologies() == []


def test_threads_record_at_once_each_all_or_none(catalog: Catalog, hand: Hand) -> None:
    numbers: list[int] = []
    refused: list[int] = []

    def work(worker: int) -> None:
        for i in range(40):
            made = f.FileMade(new_id(), "id-P", hand.root, f"{worker}-{i}", 0o644, 0, 0, 1)
            clash = replace(made, id=new_id(), name=f"shared-{i}")
            numbers.append(catalog.record(made))
            try:
                numbers.append(catalog.record(clash))
            except ExistsError:
                refused.append(i)

    before = catalog.seq()
    threads = [threading.Thread(target=work, args=(worker,)) for worker in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(numbers) == list(range(before + 1, before + 4 * 40 + 40 + 1))
    assert len(refused) == 3 * 40
    assert len(catalog.names.children(hand.root)) == 4 * 40 + 40


def test_what_is_owed_is_told_by_document_and_by_worker(catalog: Catalog, hand: Hand) -> None:
    first, second = hand.mint(hand.file("a", "x")), hand.mint(hand.file("b", "y"))
    hand.file("c", "z")
    assert hand.names.unsettled_count() == 1
    assert hand.names.arriving("id-P", "z") and not hand.names.arriving("id-P", "x")
    assert not hand.names.arriving("id-Q", "z")
    assert catalog.jobs.working() == []
    claimed = catalog.jobs.claim("worker", 60)
    assert claimed and catalog.jobs.working() == [claimed] == catalog.jobs.of(first)
    assert [job.doc_id for job in catalog.jobs.of(second)] == [second] and catalog.jobs.of("none") == []


def test_an_attempt_that_is_put_back_may_not_count(catalog: Catalog, hand: Hand) -> None:
    doc_id = hand.mint(hand.file("a", "x"))
    for counted, attempts in ((True, 1), (False, 1), (True, 2)):
        job = catalog.jobs.claim("worker", 60)
        assert job
        catalog.jobs.put_back(job, "stopped", 0.0, counted=counted)
        assert [job.attempts for job in catalog.jobs.of(doc_id)] == [attempts]


def test_what_persons_say_of_concepts_replaces_the_decisions_of_the_documents(catalog: Catalog, hand: Hand) -> None:
    _, doc_id = hand.document("a", "x")
    _, other = hand.document("b", "y")
    keys = (f"decisions/{doc_id}/r-1.json", f"decisions/{doc_id}/r-2.json")
    seq = hand.record(f.ConceptsMerged("id-P", "into", ("one",), keys[:1], ("+m=into",), (), "c1", hand.tick()))
    assert [hand.names.document(one).decisions for one in (doc_id, other)] == [keys[0], "d"]  # type: ignore[union-attr]
    hand.record(f.ConceptSplit("id-P", "into", "one", keys[1:], ("-m=into",), ("+m=into",), "c2", hand.tick()))
    assert hand.names.document(doc_id).decisions == keys[1]  # type: ignore[union-attr]
    hand.read(doc_id)
    assert hand.names.document(doc_id).decisions == keys[1], "the same publication"  # type: ignore[union-attr]
    facts = catalog.facts(seq - 1)
    assert facts is not None
    assert [type(fact).__name__ for _, fact in facts] == ["ConceptsMerged", "ConceptSplit", "DocumentRead"]
    assert decode(encode(facts[0][1])) == facts[0][1]
    for unknown in (("id-Q", keys), ("id-P", ("decisions/unknown/r-1.json",))):
        with pytest.raises(MissingError):
            hand.record(f.ConceptSplit(unknown[0], "into", "one", unknown[1], (), (), "c3", hand.tick()))


def test_a_document_counts_as_read_until_it_is_purged(hand: Hand) -> None:
    file, doc_id = hand.document("a", "x")
    hand.mint(hand.file("b", "y"))
    for purge, names in ((False, (file,)), (True, ())):
        hand.record(f.ForgettingOwed(f"order {purge}", names, (doc_id,), "orphans", purge, (), (), hand.tick()))
        assert hand.names.any_read()
        hand.record(f.ForgettingDone(f"order {purge}", (doc_id,), "orphans", purge, "commit", (), "", hand.tick()))
        assert hand.names.any_read() is not purge
