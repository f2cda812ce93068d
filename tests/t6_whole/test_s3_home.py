"""A home whose garage is a bucket: the same tree, through a mount, while its server is away and after all else is lost."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from kgfs.stores.garage.s3.client import client_of
from tests.support.logs import AWAY
from tests.support.mounting import STATISTICS
from tests.support.outages import cached_bytes, read_anew
from tests.support.peers.buckets import S3, Server, started
from tests.support.running import Place, drop_cache, until
from tests.support.texts import GARBAGE, ZEN

LONG = "\n\n".join(f"Paragraph {n} says {random.Random(n).random()}." for n in range(60_000))


@pytest.fixture(params=[*S3])
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Server]:
    """One of its own: others are not to notice that it goes."""
    yield from started(request.param, tmp_path / request.param)


@pytest.fixture
def far(server: Server, home: Path, tmp_path: Path) -> Iterator[Place]:
    place = server.place
    (home / "config.toml").write_text(
        f'[garage]\nstore = "s3"\nendpoint = "{place.endpoint}"\nprefix = "{place.prefix}"\n'
        f'access_key_file = "{place.access_key_file}"\nsecret_key_file = "{place.secret_key_file}"\ntimeout = 10\n'
    )
    found = Place(home, tmp_path / "mnt", dict(STATISTICS))
    found.mountpoint.mkdir()
    yield found
    found.close()


def tree(top: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(top)): path.read_bytes()
        for folder in ("documents", "text", "concepts", "archive")
        for path in sorted((top / folder).rglob("*"))
        if path.is_file()
    }


@pytest.mark.claim("BUCKET-4")
@pytest.mark.mounted
@pytest.mark.logs(AWAY)
def test_a_home_in_a_bucket(far: Place, server: Server) -> None:
    far.mount()
    documents = far.ontology("Zen") / "documents"
    (documents / "zen.md").write_text(ZEN)
    (documents / "long.bin").write_bytes(b"\0" + LONG.encode())
    far.wait()
    assert not any(path.is_file() for path in (far.home / "garage").rglob("*")), "nothing is kept in files"
    before = tree(documents.parent)
    assert before["documents/long.bin"] == b"\0" + LONG.encode()
    assert any("koan" in name for name in before)

    server.end()
    assert tree(documents.parent) == before, "what was read is cached"
    (documents / "garbage.txt").write_text(GARBAGE)
    assert (documents / "garbage.txt").read_text() == GARBAGE
    far.umount()
    far.mount()
    assert (documents / "garbage.txt").read_text() == GARBAGE
    assert (documents / "zen.md").read_text() == ZEN
    server.start()

    far.wait()
    after = tree(documents.parent)
    assert before.keys() < after.keys()
    assert any("garbage" in name for name in after if name.startswith("concepts/"))
    far.umount()
    assert "0 findings" in far.run("check", "--deep").stdout + far.run("check", "--deep").stderr

    for path in far.home.iterdir():
        if path.name != "config.toml":
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    assert "--take-over" in far.run("mount", far.mountpoint, expect=5).stderr
    far.mount("--take-over")
    assert tree(documents.parent) == after, "everything comes from the bucket"


@pytest.mark.mounted
def test_a_mistyped_bucket_is_told_of_and_made_by_doctor_alone(far: Place, server: Server) -> None:
    far.environment["KGFS_GARAGE_BUCKET"] = "kgsf"
    missing = f"{server.place.endpoint}/kgsf: there is no such bucket. Check garage.bucket"
    assert missing in far.run("mount", far.mountpoint, expect=4).stderr
    assert missing in far.run("doctor", expect=6).stdout
    assert not client_of(server.place).bucket_exists("kgsf")
    assert "the bucket was made" in far.run("doctor", "--create", "--quiet").stderr
    assert client_of(server.place).bucket_exists("kgsf")
    assert "made" not in far.run("doctor", "--create", "--quiet").stderr
    far.mount()
    documents = far.ontology("Zen") / "documents"
    (documents / "zen.md").write_text(ZEN)
    far.wait()


@pytest.mark.claim("BUCKET-3", "AWAY-2")
@pytest.mark.mounted
@pytest.mark.logs(AWAY)
def test_what_a_killed_mount_had_read_is_read_from_the_cache(far: Place, server: Server) -> None:
    """A kill costs nothing of what was cached before it."""
    contents = {"zen.md": ZEN.encode(), "long.bin": b"\0" + LONG.encode()}
    far.mount()
    documents = far.ontology("Zen") / "documents"
    for name, content in contents.items():
        (documents / name).write_bytes(content)
    far.wait()
    far.umount()
    drop_cache(far.home)

    far.mount("--no-worker")
    assert {name: read_anew(documents / name) for name in contents} == contents
    until(lambda: cached_bytes(far.home) >= sum(map(len, contents.values())))
    far.kill()
    server.end()
    far.mount("--no-worker")
    assert {name: read_anew(documents / name) for name in contents} == contents


def test_no_verb_shows_a_key(far: Place, server: Server) -> None:
    secrets = [(server.folder / name).read_text() for name in ("access_key", "secret_key")]
    shown = far.run("config", "show").stdout
    assert str(server.folder / "secret_key") in shown
    (server.folder / "secret_key").write_text("wrong")
    refused = far.run("ingest", Path(__file__), "--ontology", "A", expect=7)
    assert "refuses the keys" in refused.stderr
    for secret in [*secrets, "wrong\n"]:
        assert secret not in shown + refused.stdout + refused.stderr


def test_a_bucket_is_not_backed_up_as_files(far: Place, tmp_path: Path) -> None:
    assert "bucket" in far.run("backup", tmp_path / "backup", expect=3).stderr
