"""The contract of ReadingOwed and of what a document was read as before (SQLite and in memory alike)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kgfs.domain.documents import INGEST_VERSION, State
from kgfs.errors import MissingError
from kgfs.stores.catalog import facts as f
from kgfs.stores.catalog.rows import Job
from kgfs.stores.catalog.sqlite import Catalog
from tests.support.catalog_building import Hand


@pytest.fixture
def hand() -> Iterator[Hand]:
    catalog = Catalog(None)
    yield Hand(catalog)
    catalog.close()


def owed(doc_id: str, run: str = "r1", *, anew: bool = False) -> f.ReadingOwed:
    return f.ReadingOwed(doc_id, "asked for", 7, "random", "statistics", run, anew)


def asked(job: Job) -> tuple[str, str, str]:
    return job.strategy, job.extractor, job.run


def test_a_reading_is_owed_as_it_was_asked_for_and_the_document_stays_in_the_graph(hand: Hand) -> None:
    _, doc_id = hand.document("a", "x")
    before = hand.names.document(doc_id)
    seq = hand.record(owed(doc_id))
    [job] = hand.catalog.jobs.all()
    assert (job.kind, job.doc_id, job.deposit, asked(job)) == ("read", doc_id, seq, ("random", "statistics", "r1"))
    assert (job.since, job.state, job.attempts) == (0, "queued", 0)
    now = hand.names.document(doc_id)
    assert before is not None
    assert now is not None
    assert (now.state, now.deposit, now.commit_id, now.reading) == (State.QUEUED, seq, before.commit_id, before.reading)
    claimed = hand.catalog.jobs.claim("worker", 60)
    assert claimed is not None
    assert asked(claimed) == asked(job)
    hand.read(doc_id)
    assert (hand.state(doc_id), hand.owed()) == ("done", [])


def test_the_documents_of_a_run_anew_are_compared_since_its_first(hand: Hand) -> None:
    documents = [hand.document(name, name)[1] for name in "abc"]
    last = hand.record(*(owed(doc_id, anew=True) for doc_id in documents))
    assert [(job.deposit, job.since) for job in hand.catalog.jobs.all()] == [(last - 2 + n, last - 2) for n in range(3)]
    again = hand.record(*(owed(doc_id, "r2", anew=True) for doc_id in documents[1:]))
    since = {job.doc_id: job.since for job in hand.catalog.jobs.all()}
    assert since == {documents[0]: last - 2, documents[1]: again - 1, documents[2]: again - 1}


def test_what_is_written_during_a_run_is_handed_out_before_the_rest_of_it(hand: Hand) -> None:
    documents = [hand.document(name, name)[1] for name in "abc"]
    hand.record(*(owed(doc_id, anew=True) for doc_id in documents))
    first = hand.catalog.jobs.claim("worker", 3600)
    fresh = hand.mint(hand.file("d", "d"), "insert")
    rest = [hand.catalog.jobs.claim("worker", 3600) for _ in range(4)]
    assert [job.doc_id if job else None for job in (first, *rest)] == [
        *(documents[0], fresh, documents[1], documents[2], None)
    ]


def test_what_was_owed_before_is_replaced_either_way(hand: Hand) -> None:
    name, doc_id = hand.document("a", "x")
    hand.record(owed(doc_id, "r1", anew=True))
    hand.catalog.jobs.claim("worker", 3600)
    hand.record(owed(doc_id, "r2"))
    [job] = hand.catalog.jobs.all()
    assert (job.run, job.since, job.state, job.worker) == ("r2", 0, "queued", "")
    hand.mint(hand.file("b", "x"), "reprocess")
    [job] = hand.catalog.jobs.all()
    assert asked(job) == ("", "", "")
    hand.record(owed(doc_id))
    hand.remove(name)
    assert hand.owed() == [("read", doc_id)], "another path has it"


def test_only_a_document_that_a_path_has_is_read_again(hand: Hand) -> None:
    name, doc_id = hand.document("a", "x")
    _, other = hand.document("b", "y")
    hand.remove(name)
    for gone in (doc_id, "f" * 16):
        with pytest.raises(MissingError):
            hand.record(owed(other), owed(gone))
    assert [job.kind for job in hand.catalog.jobs.all()] == ["forget"], "all or none"


def test_a_failed_reading_again_leaves_what_the_graph_shows(hand: Hand) -> None:
    _, doc_id = hand.document("a", "x")
    hand.record(owed(doc_id))
    hand.fail(doc_id)
    found = hand.names.document(doc_id)
    assert found is not None
    assert (found.state, found.commit_id, found.reason) == (State.FAILED, f"c-{doc_id}", "because")
    hand.record(owed(doc_id))
    assert hand.state(doc_id) == "queued"


def test_an_unreadable_document_is_of_the_version_that_tried(hand: Hand) -> None:
    never, (_, once) = hand.mint(hand.file("a", "x")), hand.document("b", "y")
    hand.record(owed(once), *(f.DocumentFailed(doc_id, "unsupported", "why", 9, 5) for doc_id in (never, once)))
    versions = [found.ingest_version for doc_id in (never, once) if (found := hand.names.document(doc_id))]
    assert versions == [5, INGEST_VERSION], "what the graph shows was read by that"


def test_what_was_published_before_is_known(hand: Hand) -> None:
    _, doc_id = hand.document("a", "x")
    first = hand.names.document(doc_id)
    assert first is not None
    assert (first.former_reading, first.former_decisions) == ("", "")
    hand.record(owed(doc_id), f.DocumentRead(doc_id, "done", "second", "decisions-2", "c2", (), 9))
    now = hand.names.document(doc_id)
    assert now is not None
    assert (now.reading, now.former_reading, now.former_decisions) == ("second", first.reading, first.decisions)
