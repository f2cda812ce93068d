"""A bucket that lies, under a mount that has nothing of it cached: errors instead of wrong bytes, and lines that say so."""

from __future__ import annotations

import errno
import hashlib
import os
import random
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from kgfs.stores.garage.contract import BLOCK
from kgfs.stores.garage.s3.bucket import Bucket
from tests.support.outages import errno_of, read_anew
from tests.support.peers.buckets import Server
from tests.support.running import QUICK, Place, until

CONTENTS = {name: random.Random(name).randbytes(2 * BLOCK + BLOCK // 2) for name in ("flipped", "cut", "gone")}
SMALL = {f"{name}-small": content[:5000] for name, content in CONTENTS.items()}
FILES = CONTENTS | SMALL


def lie(bucket: Bucket) -> None:
    names = {found.name.rpartition("/")[2].partition(".")[0]: found.name for found in bucket.listed("objects/sources/")}
    for file, content in FILES.items():
        name = names[hashlib.sha256(content).hexdigest()[:32]]
        at = min(BLOCK, len(content) // 2)
        match file.partition("-")[0]:
            case "flipped":
                bucket.replace(
                    name, content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :], bucket.head(name).meta
                )
            case "cut":
                bucket.replace(name, content[: at + at // 2], bucket.head(name).meta)
            case _:
                bucket.delete(name)


def part(path: Path, offset: int, length: int) -> bytes:
    with path.open("rb", buffering=0) as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
        return os.pread(file.fileno(), length, offset)


@pytest.mark.claim("BUCKET-2")
@pytest.mark.mounted
@pytest.mark.logs("is not what was kept|has lost")
def test_wrong_bytes_are_never_read(seaweedfs: Server, place: Place) -> None:
    where = seaweedfs.place
    place.environment |= QUICK
    (place.home / "config.toml").write_text(
        f'[garage]\nstore = "s3"\nendpoint = "{where.endpoint}"\nprefix = "{where.prefix}"\ncache_bytes = 0\n'
        f'access_key_file = "{where.access_key_file}"\nsecret_key_file = "{where.secret_key_file}"\n'
    )
    place.mount("--no-worker")
    documents = place.ontology("Notes") / "documents"
    for file, content in FILES.items():
        (documents / file).write_bytes(content)
    with closing(Bucket(where)) as bucket:
        until(lambda: len(list(bucket.listed("objects/sources/"))) == len(FILES), 60)
        until(lambda: not list((place.home / "spool").glob("*-*")), 60)
        place.umount()
        lie(bucket)
    place.mount("--no-worker")
    for file, content in FILES.items():
        path = documents / file
        assert path.stat().st_size == len(content)
        assert errno_of(partial(read_anew, path)) == errno.EIO, file
        assert errno_of(partial(part, path, len(content) // 2, 100)) == errno.EIO, file
    for file in ("flipped", "cut"):
        assert part(documents / file, BLOCK // 2, 4096) == FILES[file][BLOCK // 2 :][:4096], "what is right can be read"
    assert part(documents / "flipped", 2 * BLOCK, 4096) == FILES["flipped"][2 * BLOCK :][:4096]
    reported = (place.mountpoint / ".kgfs/errors.ndjson").read_text()
    for content in FILES.values():
        assert hashlib.sha256(content).hexdigest()[:32] in reported
