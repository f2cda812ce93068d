"""``.kgfs/``: how the home is doing, for people and monitors. Read directly, never cached."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Sequence
from pathlib import Path

from kgfs.errors import MissingError, from_os_error
from kgfs.knowledge.status import job_page, status
from kgfs.render.words import json_page
from kgfs.stores.journal.contract_jobs import Job
from kgfs.tree import keys
from kgfs.tree.derived import DerivedFolder, FirstLook, derived_attr, refuse_writing
from kgfs.tree.keys import Key
from kgfs.tree.node import FILE_MODE, Attr, File, Handle, Node, Rendered, inode_of
from kgfs.tree.tree_context import TreeContext

NAME = ".kgfs"
NAMED = 10
"""Of so many conflicts, the newest, ``status.json`` names the files; it is made anew whenever ``.kgfs/`` is listed."""


class StatusFolder(DerivedFolder):
    """``metrics`` gives the text of ``metrics.prom``."""

    __slots__ = ("_metrics",)

    def __init__(self, context: TreeContext, metrics: Callable[[], str]) -> None:
        super().__init__(context)
        self._metrics = metrics

    @property
    def key(self) -> Key:
        return keys.fixed(NAME)

    def mtime(self) -> int:
        return self.context.mounted_at

    def lookup(self, name: str) -> Node | None:
        return dict(self.entries()).get(name)

    def entries(self) -> Sequence[tuple[str, Node]]:
        context = self.context
        return [
            ("errors.ndjson", ErrorsFile(context)),
            ("jobs", JobsFolder(context)),
            ("metrics.prom", LiveFile(context, keys.fixed(f"{NAME}/metrics.prom"), lambda: self._metrics().encode())),
            ("status.json", LiveFile(context, keys.fixed(f"{NAME}/status.json"), lambda: status_json(context))),
        ]

    def token(self) -> Hashable | None:
        return None


def status_json(context: TreeContext) -> bytes:
    return json_page(status(context.config, context.stores, named=NAMED))


class LiveFile(File):
    """What it says is made when it is looked at or opened."""

    __slots__ = ("_content", "_context", "_key")

    def __init__(self, context: TreeContext, key: Key, content: Callable[[], bytes]) -> None:
        self._context = context
        self._key = key
        self._content = content

    @property
    def inode(self) -> int:
        return inode_of(self._key)

    def attr(self) -> Attr:
        size = len(self._content())
        return derived_attr(self._context, self.inode, FILE_MODE, size, self._context.mounted_at, direct_io=True)

    def open(self, *, read: bool, write: bool, truncate: bool, append: bool = False) -> Handle:
        refuse_writing(write or truncate or append)
        return Rendered(self._content(), direct_io=True)


class ErrorsFile(File):
    """``errors.ndjson``: grows while it is open, as ``tail -f`` expects."""

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
    """Reads a file of the home as it is at each read; one that is not there yet is empty. Reading blocks."""

    __slots__ = ("_path",)
    direct_io = True

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self, offset: int, length: int) -> bytes:
        try:
            with open(self._path, "rb", buffering=0) as log:
                log.seek(offset)
                return log.read(length)
        except FileNotFoundError:
            return b""
        except OSError as error:
            raise from_os_error(error, f"Reading {self._path}") from error


class JobsFolder(DerivedFolder):
    """``jobs/<doc_id>.json``: what is owed."""

    __slots__ = ()

    @property
    def key(self) -> Key:
        return keys.fixed(f"{NAME}/jobs")

    def mtime(self) -> int:
        return self.context.mounted_at

    def lookup(self, name: str) -> Node | None:
        job = owed(self.context, name.removesuffix(".json")) if name.endswith(".json") else None
        return JobFile(self.context, job.doc_id, job) if job else None

    def entries(self) -> Sequence[tuple[str, Node]]:
        jobs: dict[str, Job] = {}
        for job in self.context.stores.journal.jobs.all():
            jobs.setdefault(job.doc_id, job)
        return [(f"{doc_id}.json", JobFile(self.context, doc_id, job)) for doc_id, job in jobs.items()]

    def token(self) -> Hashable | None:
        return None


class JobFile(File):
    __slots__ = ("_context", "_doc_id", "_first")

    def __init__(self, context: TreeContext, doc_id: str, job: Job | None = None) -> None:
        self._context = context
        self._doc_id = doc_id
        self._first = FirstLook(job)

    @property
    def inode(self) -> int:
        return inode_of(keys.job(self._doc_id))

    def attr(self) -> Attr:
        size = len(self._content(self._first.take()))
        return derived_attr(self._context, self.inode, FILE_MODE, size, self._context.mounted_at, direct_io=True)

    def open(self, *, read: bool, write: bool, truncate: bool, append: bool = False) -> Handle:
        refuse_writing(write or truncate or append)
        return Rendered(self._content(None), direct_io=True)

    def _content(self, seen: Job | None) -> bytes:
        job = seen or owed(self._context, self._doc_id)
        if job is None:
            raise MissingError(f"Nothing is owed for document {self._doc_id} any more.")
        return json_page(job_page(self._context.stores, job))


def owed(context: TreeContext, doc_id: str) -> Job | None:
    """The oldest job of a document."""
    return next(iter(context.stores.journal.jobs.of(doc_id)), None)
