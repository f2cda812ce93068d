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
from kgfs.tree.world import World

NAME = ".kgfs"
NAMED = 10
"""Of so many conflicts, the newest, ``status.json`` names the files; it is made anew whenever ``.kgfs/`` is listed."""


class StatusFolder(DerivedFolder):
    """``metrics`` gives the text of ``metrics.prom``."""

    __slots__ = ("_metrics",)

    def __init__(self, world: World, metrics: Callable[[], str]) -> None:
        super().__init__(world)
        self._metrics = metrics

    @property
    def key(self) -> Key:
        return keys.fixed(NAME)

    def mtime(self) -> int:
        return self.world.mounted_at

    def lookup(self, name: str) -> Node | None:
        return dict(self.entries()).get(name)

    def entries(self) -> Sequence[tuple[str, Node]]:
        world = self.world
        return [
            ("errors.ndjson", ErrorsFile(world)),
            ("jobs", JobsFolder(world)),
            ("metrics.prom", LiveFile(world, keys.fixed(f"{NAME}/metrics.prom"), lambda: self._metrics().encode())),
            ("status.json", LiveFile(world, keys.fixed(f"{NAME}/status.json"), lambda: status_json(world))),
        ]

    def token(self) -> Hashable | None:
        return None


def status_json(world: World) -> bytes:
    return json_page(status(world.config, world.stores, named=NAMED))


class LiveFile(File):
    """What it says is made when it is looked at or opened."""

    __slots__ = ("_content", "_key", "_world")

    def __init__(self, world: World, key: Key, content: Callable[[], bytes]) -> None:
        self._world = world
        self._key = key
        self._content = content

    @property
    def inode(self) -> int:
        return inode_of(self._key)

    def attr(self) -> Attr:
        size = len(self._content())
        return derived_attr(self._world, self.inode, FILE_MODE, size, self._world.mounted_at, direct_io=True)

    def open(self, *, read: bool, write: bool, truncate: bool, append: bool = False) -> Handle:
        refuse_writing(write or truncate or append)
        return Rendered(self._content(), direct_io=True)


class ErrorsFile(File):
    """``errors.ndjson``: grows while it is open, as ``tail -f`` expects."""

    __slots__ = ("_world",)

    def __init__(self, world: World) -> None:
        self._world = world

    @property
    def inode(self) -> int:
        return inode_of(keys.fixed(f"{NAME}/errors.ndjson"))

    def attr(self) -> Attr:
        try:
            found = os.stat(self._world.config.errors_log)
            size, mtime = found.st_size, found.st_mtime_ns
        except FileNotFoundError:
            size, mtime = 0, self._world.mounted_at
        return derived_attr(self._world, self.inode, FILE_MODE, size, mtime, direct_io=True)

    def open(self, *, read: bool, write: bool, truncate: bool, append: bool = False) -> Handle:
        refuse_writing(write or truncate or append)
        return LogHandle(self._world.config.errors_log)


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
        return self.world.mounted_at

    def lookup(self, name: str) -> Node | None:
        job = owed(self.world, name.removesuffix(".json")) if name.endswith(".json") else None
        return JobFile(self.world, job.doc_id, job) if job else None

    def entries(self) -> Sequence[tuple[str, Node]]:
        jobs: dict[str, Job] = {}
        for job in self.world.stores.journal.jobs.all():
            jobs.setdefault(job.doc_id, job)
        return [(f"{doc_id}.json", JobFile(self.world, doc_id, job)) for doc_id, job in jobs.items()]

    def token(self) -> Hashable | None:
        return None


class JobFile(File):
    __slots__ = ("_doc_id", "_first", "_world")

    def __init__(self, world: World, doc_id: str, job: Job | None = None) -> None:
        self._world = world
        self._doc_id = doc_id
        self._first = FirstLook(job)

    @property
    def inode(self) -> int:
        return inode_of(keys.job(self._doc_id))

    def attr(self) -> Attr:
        size = len(self._content(self._first.take()))
        return derived_attr(self._world, self.inode, FILE_MODE, size, self._world.mounted_at, direct_io=True)

    def open(self, *, read: bool, write: bool, truncate: bool, append: bool = False) -> Handle:
        refuse_writing(write or truncate or append)
        return Rendered(self._content(None), direct_io=True)

    def _content(self, seen: Job | None) -> bytes:
        job = seen or owed(self._world, self._doc_id)
        if job is None:
            raise MissingError(f"Nothing is owed for document {self._doc_id} any more.")
        return json_page(job_page(self._world.stores, job))


def owed(world: World, doc_id: str) -> Job | None:
    """The oldest job of a document."""
    return next(iter(world.stores.journal.jobs.of(doc_id)), None)
