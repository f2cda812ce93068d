"""A bucket's server that is killed and started again under a mount, while ``cp -r`` writes and a worker reads."""

from __future__ import annotations

import errno
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.knowledge_of import knowledge_of
from tests.support.logs import AWAY
from tests.support.outages import TIMEOUT, Peer, corpus, errno_of, minted, read_anew, wait, within
from tests.support.peers.buckets import need
from tests.support.running import Place, drop_cache, until

pytestmark = [pytest.mark.mounted, pytest.mark.slow]

MEANWHILE = "A torii is a gate.\n"
NO_MODELS = {"KGFS_MODELS_EXTRACTOR": "statistics", "KGFS_MODELS_EMBEDDER": "none"}


@pytest.fixture
def bucket(tmp_path: Path) -> Iterator[Peer]:
    """Of its own: others are not to notice that it goes."""
    need("seaweedfs")
    found = Peer("seaweedfs", tmp_path / "seaweedfs")
    found.start()
    yield found
    found.end()


@pytest.fixture
def far(place: Place, bucket: Peer) -> Place:
    place.environment |= NO_MODELS
    (place.home / "config.toml").write_text(bucket.settings())
    return place


def copied(place: Place, source: Path, stderr: int | None = None) -> subprocess.Popen[bytes]:
    return subprocess.Popen(["cp", "-r", f"{source}/.", place.ontology("Notes") / "documents"], stderr=stderr)


@pytest.mark.claim("AWAY-1", "AWAY-2", "AWAY-3")
@pytest.mark.logs(AWAY)
def test_killed_and_started_again(far: Place, undisturbed: Place, bucket: Peer, tmp_path: Path) -> None:
    files = 30
    first, second = corpus(tmp_path / "first", 5, "first"), corpus(tmp_path / "second", files, "second")
    far.mount()
    documents = far.ontology("Notes") / "documents"
    assert copied(far, first).wait() == 0
    wait(far)
    listed = sorted(os.listdir(documents.parent / "concepts"))
    evidence = documents.parent / "concepts" / listed[0] / "evidence/1/source.txt"
    shown = evidence.read_bytes()

    writer = copied(far, second)
    until(lambda: len(os.listdir(documents)) > 8)
    bucket.kill()
    assert writer.wait(60) == 0, "who writes sees nothing of it"
    written = {path.name for source in (first, second) for path in source.rglob("*.txt")}

    with within(2):
        assert {path.name for path in documents.rglob("*.txt")} == written
        assert set(listed) <= set(os.listdir(documents.parent / "concepts"))
        assert evidence.read_bytes() == shown
        (documents / "meanwhile.txt").write_text(MEANWHILE)
        (documents / "meanwhile.txt").rename(documents / "later.txt")
        assert (documents / "later.txt").read_text() == MEANWHILE
        for source in (first, second):
            for path in source.rglob("*.txt"):
                assert read_anew(documents / path.relative_to(source)) == path.read_bytes(), "it was written here"
    drop_cache(far.home)
    with within(2 * TIMEOUT):
        assert errno_of(lambda: read_anew(documents / "first-000.txt")) in (errno.EIO, errno.ETIMEDOUT)
    far.run("wait", "--timeout", "3", expect=8)
    assert far.status()["documents"].get("failed", 0) == 0

    bucket.start()
    wait(far)
    for source in (first, second):
        for path in source.rglob("*.txt"):
            assert read_anew(documents / path.relative_to(source)) == path.read_bytes()
    far.umount()
    assert "0 findings" in far.run("check", "--deep").stderr
    versions = minted(far.home)
    assert len(versions) == len(set(versions)) == 5 + files + 1

    undisturbed.mount()
    for source in (first, second):
        assert copied(undisturbed, source).wait() == 0
        undisturbed.wait()
    (undisturbed.mountpoint / "Notes/documents/later.txt").write_text(MEANWHILE)
    undisturbed.wait()
    undisturbed.umount()
    assert versions == minted(undisturbed.home)
    for home in (far, undisturbed):
        home.run("worker", "--until-idle")  # nothing waits for what is looked for in earlier documents
    assert knowledge_of(far.home) == knowledge_of(undisturbed.home)
