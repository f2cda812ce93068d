"""Real S3 servers, one of each a session; a test gets a part of a bucket for itself."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType

import pytest

from kgfs.config import Config
from kgfs.errors import KgfsError, MissingError
from kgfs.stores.garage.contract import Garage
from kgfs.stores.garage.opening import FileGarage, open_garage
from kgfs.stores.garage.s3.bucket import Bucket
from kgfs.stores.garage.s3.endpoint import Endpoint
from kgfs.stores.garage.s3.garage import S3Garage
from scripts.servers import minio, process, s3, seaweedfs
from tests.fakes.garage import MemoryGarage
from tests.support.required import REQUIRED, missing

S3 = {"seaweedfs": seaweedfs, "minio": minio}
GARAGES = ["files", "memory", *S3]
"""Every garage, the server named that is behind it."""
_CACHED = {
    "seaweedfs": f"{seaweedfs.PACKAGE.replace('==', '-')}/bin/weed",
    "minio": f"minio-{minio.VERSION}/minio",
}
_numbers = itertools.count()


@dataclass
class Server:
    """A running S3 server, which can be ended and started again with its data."""

    name: str
    module: ModuleType
    folder: Path
    region: str = ""
    """The only one it takes, where it was told of one."""

    @property
    def place(self) -> Endpoint:
        """A part of its bucket that nobody used yet."""
        port, certificates = process.ports_before(self.folder)[0], s3.certified(self.folder)
        return Endpoint(
            endpoint=f"{'https' if certificates else 'http'}://127.0.0.1:{port}",
            bucket="kgfs",
            prefix=f"{self.name}/{next(_numbers)}",
            region=self.region,
            access_key_file=self.folder / "access_key",
            secret_key_file=self.folder / "secret_key",
            ca_file=certificates / "ca.crt" if certificates else None,
            timeout=20.0,
        )

    def start(self) -> None:
        """Start, on the ports it had if it had any, and wait until it keeps what it is given."""
        self.module.start(self.folder, process.ports_before(self.folder))
        deadline = time.monotonic() + 240
        while True:
            try:
                bucket = Bucket(replace(self.place, prefix=""))
                bucket.create()
                bucket.put(f"answers/{time.time_ns()}", b"yes", {})
                return
            except KgfsError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.2)

    def end(self) -> None:
        process.end(self.folder)


def need(name: str) -> None:
    """One of S3's servers."""
    if name not in REQUIRED and not (process.cache() / _CACHED[name]).exists():
        missing(name, f"it is not installed (python -m scripts.servers install {name})")


def started(name: str, folder: Path, region: str = "") -> Iterator[Server]:
    need(name)
    folder.mkdir(exist_ok=True)
    server = Server(name, S3[name], folder, region)
    server.start()
    try:
        yield server
    finally:
        server.end()


@pytest.fixture(scope="session", name="seaweedfs")
def seaweedfs_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    yield from started("seaweedfs", tmp_path_factory.mktemp("seaweedfs"))


@pytest.fixture(scope="session", name="minio")
def minio_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    yield from started("minio", tmp_path_factory.mktemp("minio"))


def garage_of(kind: str, folder: Path, request: pytest.FixtureRequest, *, cache_bytes: int = 64 << 20) -> Garage:
    """An empty garage of one of :data:`GARAGES`."""
    if kind == "files":
        return FileGarage(folder / "garage")
    if kind == "memory":
        return MemoryGarage()
    return S3Garage(request.getfixturevalue(kind).place, folder / "cache", cache_bytes)


def in_bucket(config: Config) -> Iterator[tuple[str, bytes]]:
    """Name and bytes of all that a home has in a bucket, whatever it is for; nothing of a home in files."""
    if config.garage_store.store == "files":
        return
    with closing(open_garage(config)) as garage:
        assert isinstance(garage, S3Garage)
        for found in garage._bucket.listed(""):
            with suppress(MissingError):  # deleted since
                yield found.name, garage._bucket.get(found.name)[1]
