"""Serve ``.kgfs/``, the state of the home for people and monitors. Its files are read directly and never cached."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Sequence
from pathlib import Path

from kgfs.errors import MissingError, from_os_error
from kgfs.knowledge.compiled import compiled, gate_log, page
from kgfs.knowledge.status import job_page, status
from kgfs.render.words import json_page
from kgfs.stores.catalog.rows import Job
from kgfs.stores.thread_slots import blocks
from kgfs.tree import keys
from kgfs.tree.derived import DerivedFolder, Page, derived_attr, refuse_writing
from kgfs.tree.node import FILE_MODE, Attr, File, Handle, Node, inode_of
from kgfs.tree.tree_context import TreeContext

NAME = ".kgfs"


class StatusFolder(DerivedFolder[None]):
    """Serve ``.kgfs/``."""

    __slots__ = ()

    def __init__(self, context: TreeContext) -> None:
        super().__init__(context, keys.fixed(NAME))

    def mtime(self) -> int:
        return self.context.mounted_at

    def entries(self) -> Sequence[tuple[str, Node]]:
        return [
            (
                "compiler.md",
                self._live("compiler.md", lambda: page(compiled(self.context.config, self.context.stores))),
            ),
            ("errors.ndjson", ErrorsFile(self.context)),
            ("gate.ndjson", self._live("gate.ndjson", lambda: gate_log(self.context.stores))),
            ("jobs", JobsFolder(self.context)),
            ("metrics.prom", self._live("metrics.prom", lambda: self.context.metrics().encode())),
            ("status.json", self._live("status.json", lambda: status_json(self.context))),
        ]

    def _live(self, name: str, content: Callable[[], bytes]) -> Page:
        key, since = keys.fixed(f"{NAME}/{name}"), self.context.mounted_at
        return Page(self.context, key, lambda: (content(), since), live=True)

    def token(self) -> Hashable | None:
        return None


def status_json(context: TreeContext) -> bytes:
    """Return the contents of ``status.json``."""
    return json_page(status(context.config, context.stores))


class ErrorsFile(File):
    """Serve ``errors.ndjson``. It grows while it is open, as ``tail -f`` expects."""

    __slots__ = ("_context",)

    def __init__(self, context: TreeContext) -> None:
        self._context = context

    @property
    def inode(self) -> int:
        return inode_of(keys.fixed(f"{NAME}/errors.ndjson"))

    def attr(self) -> Attr:
        try:
            found = os.stat(self._context.config.errors_log)
            size, mtime = found.st_size, found.st_mtime_ns
        except FileNotFoundError:
            size, mtime = 0, self._context.mounted_at
        return derived_attr(self._context, self.inode, FILE_MODE, size, mtime, direct_io=True)

    def open(self, *, read: bool, write: bool, truncate: bool, append: bool = False) -> Handle:
        refuse_writing(write or truncate or append)
        return LogHandle(self._context.config.errors_log)


class LogHandle(Handle):
    """Read a file of the home in its state at each read. A file that does not exist yet is empty."""

    __slots__ = ("_path",)
    direct_io = True

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self, offset: int, length: int) -> bytes:
        blocks()
        try:
            with open(self._path, "rb", buffering=0) as log:
                log.seek(offset)
                return log.read(length)
        except FileNotFoundError:
            return b""
        except OSError as error:
            raise from_os_error(error, f"Reading {self._path}") from error


class JobsFolder(DerivedFolder[None]):
    """Serve ``jobs/<doc_id>.json``, the jobs of the backlog."""

    __slots__ = ()

    def __init__(self, context: TreeContext) -> None:
        super().__init__(context, keys.fixed(f"{NAME}/jobs"))

    def mtime(self) -> int:
        return self.context.mounted_at

    def lookup(self, name: str) -> Node | None:
        job = owed(self.context, name.removesuffix(".json")) if name.endswith(".json") else None
        return job_json(self.context, job) if job else None

    def entries(self) -> Sequence[tuple[str, Node]]:
        jobs: dict[str, Job] = {}
        for job in self.context.stores.catalog.jobs.all():
            jobs.setdefault(job.doc_id, job)
        return [(f"{doc_id}.json", job_json(self.context, job)) for doc_id, job in jobs.items()]

    def token(self) -> Hashable | None:
        return None


def job_json(context: TreeContext, seen: Job) -> Page:
    """Return the page of a job. ``seen`` is used for the first request only."""
    doc_id, first = seen.doc_id, [seen]

    def page() -> tuple[bytes, int]:
        job = first.pop() if first else owed(context, doc_id)
        if job is None:
            raise MissingError(f"Nothing is owed for document {doc_id} any more.")
        return json_page(job_page(context.stores, job)), context.mounted_at

    return Page(context, keys.job(doc_id), page, live=True)


def owed(context: TreeContext, doc_id: str) -> Job | None:
    """Return the oldest job of a document; None if it has none."""
    return next(iter(context.stores.catalog.jobs.of(doc_id)), None)
