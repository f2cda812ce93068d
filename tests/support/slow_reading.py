"""What workers of several homes are given to read, and an extractor that takes its time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from kgfs.compute.local import LocalCompute
from kgfs.domain.documents import Document
from kgfs.errors import UnavailableError
from kgfs.ingest.working.pipeline import Pipeline
from kgfs.models.contract import Passage
from kgfs.settings import Models
from kgfs.stores.catalog.rows import Job
from kgfs.stores.readings import Reading

THINGS = ("garbage collector", "reference counting", "tracing algorithm", "memory cell", "weak reference", "root set")
TEXTS = {
    f"{n:02}": f"A {THINGS[n % 6]} is a form of {THINGS[(n + 1) % 6]}. The {THINGS[n % 6]} uses a {THINGS[(n + 2) % 6]} number {n}."
    for n in range(10)
}


def read_first(publisher: Pipeline) -> tuple[Document, Reading, Job]:
    """What is owed first, read and not published yet."""
    job = publisher.stores.catalog.jobs.claim("slow", 600)
    assert job is not None
    document = publisher.stores.catalog.names.document(job.doc_id)
    assert document is not None
    return document, publisher.read(document, job, lambda stage, share: None), job


@dataclass
class Slow(LocalCompute):
    """The statistics extractor, which takes its time, with a note of what it was asked. Some day it is away."""

    answers: int = 1_000_000
    asked: list[str] = field(default_factory=list)
    may_go_on: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        super().__init__(Models(embedder="none", extractor="statistics"))
        self.may_go_on.set()

    def extract(self, passages: Sequence[Passage], known: Sequence[str]) -> list[str]:
        if len(self.asked) >= self.answers:
            raise UnavailableError("only here")
        self.asked.extend(passage.text for passage in passages)
        time.sleep(0.1)
        self.may_go_on.wait()
        return super().extract(passages, known)


def hanging() -> Callable[[], None]:
    """To watch by who would else work without end."""
    end = time.monotonic() + 120

    def watch() -> None:
        assert time.monotonic() < end, "it never has its turn"

    return watch
