"""Secrets of a home on servers are shown nowhere, and what goes to other machines in the clear is said."""

from __future__ import annotations

import os
import resource
import secrets
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from kgfs.app.working import run_worker
from kgfs.config import load
from kgfs.errors import AwayError, BadInputError, MachineError, StoreError, TimedOutError
from kgfs.stores import servers
from kgfs.stores.garage.opening import open_garage
from kgfs.stores.graph.opening import open_graph
from kgfs.stores.vectors.opening import open_vectors
from scripts.servers import process, qdrant_wire
from tests.peers.buckets import Server
from tests.peers.lending import lending, without_keys, write
from tests.t6_whole.conftest import ZEN
from tests.t6_whole.running import QUICK, ROOT, Place

REFUSED = "refuses the key"


@pytest.fixture
def qdrant(tmp_path: Path, qdrant_wire_url: str) -> Iterator[Path]:
    """The folder of one that wants a key."""
    folder = tmp_path / "qdrant-wire"
    folder.mkdir()
    (folder / "api_key").write_text(secrets.token_hex(16))
    qdrant_wire.start(folder, ())
    yield folder
    process.end(folder)


@pytest.fixture
def settings(place: Place, minio: Server, qdrant: Path, tmp_path: Path) -> Path:
    """Those of a home on servers, in a file elsewhere that names files of secrets by where they are beside it."""
    bucket, graph = minio.place, (place.home / "config.toml").read_text()
    (place.home / "config.toml").unlink()
    file = tmp_path / "servers.toml"
    file.write_text(
        f'[garage]\nstore = "s3"\nendpoint = "{bucket.endpoint}"\nprefix = "{bucket.prefix}"\ntimeout = 10\n'
        + (graph + qdrant_wire.settings(qdrant, process.ports_before(qdrant))).replace(f'"{tmp_path}/', '"')
    )
    return file


@pytest.fixture
def far(
    place: Place, minio: Server, settings: Path, qdrant: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Place, list[bytes]]]:
    """A home on servers, and what is to be shown nowhere: keys of the bucket with a token, which are lent, Qdrant's, and the
    graph's password. Verbs know the settings by KGFS_CONFIG; a mount is to be told of them."""
    without_keys(monkeypatch)
    bucket, credentials = minio.place, tmp_path / "credentials"
    place.environment["KGFS_CONFIG"] = os.path.relpath(settings, ROOT)
    place.environment["AWS_SHARED_CREDENTIALS_FILE"] = str(credentials)
    with lending(bucket) as lent:
        keys = lent("borrower")
        write(credentials, keys)
        hidden = [keys.access_key, keys.secret_key, str(keys.session_token)]
        files = [qdrant / "api_key", tmp_path / "neo4j-password"]
        yield place, [secret.encode() for secret in [*hidden, *(file.read_text() for file in files)]]


def everything_below(top: Path) -> bytes:
    return b"".join(path.read_bytes() for path in top.rglob("*") if path.is_file())


@pytest.mark.claim("SECRET-1", "SECRET-3")
@pytest.mark.mounted
@pytest.mark.models
@pytest.mark.peers("neo4j")
@pytest.mark.logs(REFUSED)
def test_no_secret_is_shown(far: tuple[Place, list[bytes]], settings: Path, qdrant: Path, tmp_path: Path) -> None:
    place, hidden = far
    place.mount("--config", os.path.relpath(settings, ROOT), env={"KGFS_CONFIG": ""})
    documents = place.ontology("Zen") / "documents"
    (documents / "zen.md").write_text(ZEN)
    place.wait()
    said = [place.run(*words.split()) for words in ("status", "status --json", "config show", "doctor", "search koans")]
    assert said[3].stdout.count(" answers.\n") == 3
    (qdrant / "api_key").write_text("wrong-key-for-once")
    said.append(place.run("doctor", expect=6))
    assert REFUSED in said[-1].stdout
    (documents / "more.md").write_text(ZEN * 2)
    place.run("check", expect=7)
    said.append(place.run("rebuild", "--yes", expect=7))
    assert REFUSED in said[-1].stderr
    hidden.append(b"wrong-key-for-once")
    (qdrant / "api_key").write_bytes(hidden[3])
    right = (tmp_path / "credentials").read_text()
    (tmp_path / "credentials").write_text(right.replace(hidden[2].decode(), "A-token-of-nobody"))
    said.append(place.run("doctor", expect=6))
    assert REFUSED in said[-1].stdout
    hidden.append(b"A-token-of-nobody")
    (tmp_path / "credentials").write_text(right)
    shown = "".join(done.stdout + done.stderr for done in said).encode() + everything_below(place.mountpoint / ".kgfs")
    for pid in place.pids():
        shown += Path(f"/proc/{pid}/cmdline").read_bytes() + Path(f"/proc/{pid}/environ").read_bytes()
        assert resource.prlimit(pid, resource.RLIMIT_CORE) == (0, 0)
    place.wait()
    place.umount()
    shown += everything_below(place.home)
    for secret in hidden:
        assert secret not in shown


@pytest.mark.claim("SECRET-3")
def test_memory_is_not_dumped_where_it_may_hold_a_secret(home: Path) -> None:
    plain = load(home)
    far = replace(plain, vectors=replace(plain.vectors, store="qdrant", url="http://127.0.0.1:1"))
    assert (plain.on_servers, far.on_servers) == (False, True)
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_CORE, (4096, 4096))
        servers.keep_secrets_from_core_dumps(plain)
        kept = resource.getrlimit(resource.RLIMIT_CORE) == (4096, 4096)
        servers.keep_secrets_from_core_dumps(far)
        os._exit(0 if kept and resource.getrlimit(resource.RLIMIT_CORE) == (0, 0) else 1)
    assert os.waitpid(child, 0)[1] == 0


SERVERS = {
    "s3": {
        "KGFS_GARAGE_STORE": "s3",
        "KGFS_GARAGE_ENDPOINT": "http://HOST:1",
        "KGFS_GARAGE_ACCESS_KEY_FILE": "FILE",
        "KGFS_GARAGE_SECRET_KEY_FILE": "FILE",
    },
    "qdrant": {
        "KGFS_VECTORS_STORE": "qdrant",
        "KGFS_VECTORS_URL": "http://HOST:1",
        "KGFS_VECTORS_API_KEY_FILE": "FILE",
    },
    "neo4j": {
        "KGFS_GRAPH_STORE": "neo4j",
        "KGFS_GRAPH_URI": "bolt://HOST:1",
        "KGFS_GRAPH_PASSWORD_FILE": "FILE",
        "KGFS_GRAPH_TIMEOUT": "1",
    },
    "ray": {**QUICK, "KGFS_COMPUTE_ENGINE": "ray", "KGFS_COMPUTE_ADDRESS": "HOST:1"},
}


@pytest.mark.claim("SECRET-2")
@pytest.mark.parametrize("kind", SERVERS)
def test_what_goes_to_others_in_the_clear_is_said_once(
    home: Path, tmp_path: Path, kind: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(servers, "_told", set())
    monkeypatch.setattr(os, "environ", {**os.environ})  # Ray is told by it what it must not do
    monkeypatch.setitem(sys.modules, "ray", None)  # it takes longer to load than all else here, and is not asked
    (tmp_path / "secret").write_text("s3cret-word")
    (home / "run").mkdir()
    log = home / "log/errors.ndjson"

    def opened(host: str) -> None:
        environ = {
            name: value.replace("HOST", host).replace("FILE", str(tmp_path / "secret"))
            for name, value in SERVERS[kind].items()
        }
        config = load(home, environ=environ)
        if kind == "ray":
            with pytest.raises(MachineError, match="Ray"):
                run_worker(config, until_idle=True)
            return
        for open_ in (open_garage, open_graph, lambda config: open_vectors(config, "model/1")):
            with suppress(AwayError, StoreError, TimedOutError):
                open_(config).close()

    for host in ("127.0.0.1", "localhost", "[::1]"):
        opened(host)
    assert "unencrypted" not in caplog.text
    assert not log.exists() or "unencrypted" not in log.read_text()
    opened("server.invalid")
    opened("server.invalid")
    assert caplog.text.count("unencrypted") == 1
    monkeypatch.setattr(servers, "_told", set())  # another process
    opened("server.invalid")
    assert caplog.text.count("unencrypted") == 2
    assert log.read_text().count("unencrypted") == 1
    assert "s3cret-word" not in caplog.text + log.read_text()
    log.unlink()


@pytest.mark.parametrize(("kind", "setting"), [("qdrant", "vectors.api_key_file"), ("neo4j", "graph.password_file")])
@pytest.mark.parametrize("content", [None, b"", b"\xff\xfe"])
def test_a_secret_that_cannot_be_read_is_named_by_its_setting(
    home: Path, tmp_path: Path, kind: str, setting: str, content: bytes | None
) -> None:
    if content is not None:
        (tmp_path / "secret").write_bytes(content)
    environ = {
        name: value.replace("HOST", "127.0.0.1").replace("FILE", str(tmp_path / "secret"))
        for name, value in SERVERS[kind].items()
    }
    config = load(home, environ=environ)
    with pytest.raises(BadInputError, match=setting):
        open_vectors(config, "model/1") if kind == "qdrant" else open_graph(config)


@pytest.mark.parametrize("address", ["http://me:s3cret-word@host", "https://host:1/?a=b&api-key=s3cret-word"])
def test_a_key_in_an_address_is_refused(home: Path, address: str) -> None:
    for name in ("KGFS_GARAGE_ENDPOINT", "KGFS_GRAPH_URI", "KGFS_VECTORS_URL"):
        with pytest.raises(BadInputError, match="file") as caught:
            load(home, environ={name: address})
        assert "s3cret-word" not in str(caught.value)
