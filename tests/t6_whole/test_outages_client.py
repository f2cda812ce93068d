"""What is wrong on this side of the wire: a full disk, keys that are not taken any more."""

from __future__ import annotations

import errno
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.knowledge_of import knowledge_of
from tests.support.logs import AWAY
from tests.support.outages import TIMEOUT, Peer, corpus, errno_of, minted, read_anew, within
from tests.support.peers.buckets import need
from tests.support.running import Place, drop_cache, until

pytestmark = [pytest.mark.mounted, pytest.mark.slow]

MODELS = {"KGFS_MODELS_EXTRACTOR": "statistics", "KGFS_MODELS_EMBEDDER": "none"}
REFUSED = "refuses the keys"


@pytest.fixture(params=["seaweedfs"])
def bucket(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Peer]:
    """Of its own: others are not to notice that its keys change."""
    need(request.param)
    found = Peer(request.param, tmp_path / request.param)
    found.start()
    yield found
    found.end()


@pytest.fixture
def far(place: Place, bucket: Peer) -> Place:
    place.environment |= MODELS
    (place.home / "config.toml").write_text(bucket.settings())
    return place


@pytest.mark.claim("AWAY-4")
@pytest.mark.logs(REFUSED, AWAY)
def test_keys_that_are_taken_no_more(far: Place, undisturbed: Place, bucket: Peer, tmp_path: Path) -> None:
    """The server has other keys from now on: those of the home are what expired ones are."""
    source = corpus(tmp_path / "source", 10, "note")
    far.mount()
    documents = far.ontology("Notes") / "documents"
    (documents / "before.txt").write_text("A stupa is a mound.\n")
    far.wait()
    keys = {name: (bucket.folder / name).read_text() for name in ("access_key", "secret_key")}

    bucket.kill()
    for name in keys:
        (bucket.folder / name).unlink()
    bucket.start()
    fresh = {name: (bucket.folder / name).read_text() for name in keys}
    for name, content in keys.items():
        (bucket.folder / name).write_text(content)
    assert subprocess.run(["cp", "-r", f"{source}/.", documents], check=False).returncode == 0
    with within(2):
        assert (documents / "note-000.txt").read_bytes() == (source / "note-000.txt").read_bytes()
        assert (documents / "before.txt").read_text() == "A stupa is a mound.\n"
    drop_cache(far.home)
    with within(2 * TIMEOUT):
        assert errno_of(lambda: read_anew(documents / "before.txt")) in (errno.EIO, errno.ETIMEDOUT)
    errors = far.mountpoint / ".kgfs/errors.ndjson"
    # Each read that fails is told; of a server that was away before, only that.
    until(lambda: errno_of(lambda: read_anew(documents / "before.txt")) == errno.EIO and REFUSED in errors.read_text())
    far.run("wait", "--timeout", "3", expect=None)
    assert far.status()["documents"].get("failed", 0) == 0, "nothing is given up for want of keys"

    for name, content in fresh.items():
        (bucket.folder / name).write_text(content)
    far.wait()
    assert read_anew(documents / "before.txt") == b"A stupa is a mound.\n"
    assert far.status()["documents"] == {"done": 11}
    far.umount()
    assert "0 findings" in far.run("check", "--deep").stderr
    for secret in (*keys.values(), *fresh.values()):
        for path in far.home.rglob("*"):
            assert not path.is_file() or secret.strip().encode() not in path.read_bytes()

    undisturbed.mount()
    documents = undisturbed.ontology("Notes") / "documents"
    (documents / "before.txt").write_text("A stupa is a mound.\n")
    undisturbed.wait()
    assert subprocess.run(["cp", "-r", f"{source}/.", documents], check=False).returncode == 0
    undisturbed.wait()
    undisturbed.umount()
    assert minted(far.home) == minted(undisturbed.home)
    assert knowledge_of(far.home) == knowledge_of(undisturbed.home)


@pytest.fixture
def small_disk(home: Path) -> Iterator[Path]:
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=12m,mode=700", "tmpfs", str(home)], check=True)
    yield home
    subprocess.run(["umount", "--lazy", str(home)], check=True)


@pytest.mark.claim("AWAY-5")
@pytest.mark.root
@pytest.mark.logs("no space left", AWAY)
def test_the_disk_fills_while_the_bucket_is_away(small_disk: Path, bucket: Peer, far: Place, tmp_path: Path) -> None:
    far.mount()
    documents = far.ontology("Notes") / "documents"
    (documents / "before.txt").write_text("A stupa is a mound.\n")
    far.wait()
    bucket.kill()
    written: dict[str, bytes] = {}
    refused = 0
    for number in range(40):
        content = b"Note %d. " % number + os.urandom(1 << 19)
        path = documents / f"{number:02d}.bin"
        refused = errno_of(lambda path=path, content=content: path.write_bytes(content))
        if refused:
            break
        written[path.name] = content
    assert refused == errno.ENOSPC
    assert len(written) > 5
    for name, content in written.items():
        assert read_anew(documents / name) == content
    assert "before.txt" in os.listdir(documents)

    bucket.start()
    far.wait()
    assert not errno_of(lambda: (documents / "after.txt").write_text("A torii is a gate.\n")), "there is room again"
    far.wait()
    for name, content in written.items():
        assert read_anew(documents / name) == content
    far.umount()
    assert "0 findings" in far.run("check", "--deep").stderr
    versions = minted(far.home)
    assert len(versions) == len(set(versions))
    assert {*written, "before.txt", "after.txt"} <= set(versions)
    assert knowledge_of(far.home)["Notes"]["states"]["done"] == 2
