"""Secrets of a home on servers are shown nowhere, and what goes to other machines in the clear is said."""

from __future__ import annotations

import importlib.util
import os
import resource
import secrets
import socket
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from kgfs.app.asking import asked
from kgfs.app.working import place_of, run_worker
from kgfs.config import load
from kgfs.errors import BadInputError, StoreError, TimedOutError, UnavailableError
from kgfs.stores import servers
from kgfs.stores.core_dumps import keep_secrets_from_core_dumps
from kgfs.stores.garage.opening import open_garage
from kgfs.stores.vectors.opening import open_vectors
from scripts.servers import process, qdrant_wire
from tests.support.peers.buckets import Server
from tests.support.peers.lending import lending, without_keys, write
from tests.support.required import missing
from tests.support.running import QUICK, ROOT, Place
from tests.support.texts import ZEN

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
    bucket = minio.place
    file = tmp_path / "servers.toml"
    file.write_text(
        f'[garage]\nstore = "s3"\nendpoint = "{bucket.endpoint}"\nprefix = "{bucket.prefix}"\ntimeout = 10\n'
        + qdrant_wire.settings(qdrant, process.ports_before(qdrant)).replace(f'"{tmp_path}/', '"')
    )
    return file


@pytest.fixture
def far(
    place: Place, minio: Server, settings: Path, qdrant: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Place, list[bytes]]]:
    """A home on servers, and what is to be shown nowhere: keys of the bucket with a token, which are lent, and Qdrant's.
    Verbs know the settings by KGFS_CONFIG; a mount is to be told of them."""
    without_keys(monkeypatch)
    bucket, credentials = minio.place, tmp_path / "credentials"
    place.environment["KGFS_CONFIG"] = os.path.relpath(settings, ROOT)
    place.environment["AWS_SHARED_CREDENTIALS_FILE"] = str(credentials)
    with lending(bucket) as lent:
        keys = lent("borrower")
        write(credentials, keys)
        hidden = [keys.access_key, keys.secret_key, str(keys.session_token)]
        yield place, [secret.encode() for secret in [*hidden, (qdrant / "api_key").read_text()]]


def everything_below(top: Path) -> bytes:
    return b"".join(path.read_bytes() for path in top.rglob("*") if path.is_file())


@pytest.mark.claim("SECRET-1", "SECRET-3")
@pytest.mark.mounted
@pytest.mark.models
@pytest.mark.logs(REFUSED)
def test_no_secret_is_shown(far: tuple[Place, list[bytes]], settings: Path, qdrant: Path, tmp_path: Path) -> None:
    place, hidden = far
    place.mount("--config", os.path.relpath(settings, ROOT), env={"KGFS_CONFIG": ""})
    documents = place.ontology("Zen") / "documents"
    (documents / "zen.md").write_text(ZEN)
    place.wait()
    reported = [
        place.run(*words.split()) for words in ("status", "status --json", "config show", "doctor", "search koans")
    ]
    assert reported[3].stdout.count(" answers.\n") == 2
    (qdrant / "api_key").write_text("wrong-key-for-once")
    reported.append(place.run("doctor", expect=6))
    assert REFUSED in reported[-1].stdout
    (documents / "more.md").write_text(ZEN * 2)
    place.run("check", expect=7)
    reported.append(place.run("rebuild", "--yes", expect=7))
    assert REFUSED in reported[-1].stderr
    hidden.append(b"wrong-key-for-once")
    (qdrant / "api_key").write_bytes(hidden[3])
    right = (tmp_path / "credentials").read_text()
    (tmp_path / "credentials").write_text(right.replace(hidden[2].decode(), "A-token-of-nobody"))
    reported.append(place.run("doctor", expect=6))
    assert REFUSED in reported[-1].stdout
    hidden.append(b"A-token-of-nobody")
    (tmp_path / "credentials").write_text(right)
    shown = "".join(done.stdout + done.stderr for done in reported).encode() + everything_below(
        place.mountpoint / ".kgfs"
    )
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
    on_ray = replace(plain, cluster=replace(plain.cluster, engine="ray"))
    for may_hold_one in (far, on_ray):
        child = os.fork()
        if child == 0:
            resource.setrlimit(resource.RLIMIT_CORE, (4096, 4096))
            keep_secrets_from_core_dumps(plain)
            kept = resource.getrlimit(resource.RLIMIT_CORE) == (4096, 4096)
            keep_secrets_from_core_dumps(may_hold_one)
            os._exit(0 if kept and resource.getrlimit(resource.RLIMIT_CORE) == (0, 0) else 1)
        assert os.waitpid(child, 0)[1] == 0


@pytest.mark.claim("SECRET-3")
def test_memory_of_a_process_of_a_cluster_is_not_dumped(home: Path) -> None:
    """It is another machine's, perhaps, whose own limits it has."""
    config = load(home, environ={**QUICK, "KGFS_COMPUTE_ENGINE": "ray"})
    config.garage.mkdir(parents=True)
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_CORE, (4096, 4096))
        place_of(config)
        os._exit(0 if resource.getrlimit(resource.RLIMIT_CORE) == (0, 0) else 1)
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
    "ray": {**QUICK, "KGFS_COMPUTE_ENGINE": "ray", "KGFS_COMPUTE_ADDRESS": "HOST:1"},
}


@pytest.mark.claim("SECRET-2")
@pytest.mark.parametrize("kind", SERVERS)
def test_what_goes_to_others_in_the_clear_is_said_once(
    home: Path, tmp_path: Path, kind: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(servers, "_reported", set())
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
            run_worker(config, until_idle=True)
            return
        for open_ in (open_garage, lambda config: open_vectors(config, "model/1")):
            with suppress(UnavailableError, StoreError, TimedOutError):
                open_(config).close()

    for host in ("127.0.0.1", "127.0.0.2", "localhost", "[::1]"):
        opened(host)
    assert "unencrypted" not in caplog.text
    assert not log.exists() or "unencrypted" not in log.read_text()
    opened("server.invalid")
    opened("server.invalid")
    assert caplog.text.count("unencrypted") == 1
    monkeypatch.setattr(servers, "_reported", set())  # another process
    opened("server.invalid")
    assert caplog.text.count("unencrypted") == 2
    assert log.read_text().count("unencrypted") == 1
    assert "s3cret-word" not in caplog.text + log.read_text()
    log.unlink()


@pytest.mark.parametrize("content", [None, b"", b"\xff\xfe"])
def test_a_secret_that_cannot_be_read_is_named_by_its_setting(
    home: Path, tmp_path: Path, content: bytes | None
) -> None:
    if content is not None:
        (tmp_path / "secret").write_bytes(content)
    environ = {
        name: value.replace("HOST", "127.0.0.1").replace("FILE", str(tmp_path / "secret"))
        for name, value in SERVERS["qdrant"].items()
    }
    config = load(home, environ=environ)
    with pytest.raises(BadInputError, match=r"vectors\.api_key_file"):
        open_vectors(config, "model/1")


@pytest.mark.parametrize("address", ["http://me:s3cret-word@host", "https://host:1/?a=b&api-key=s3cret-word"])
def test_a_key_in_an_address_is_refused(home: Path, address: str) -> None:
    for name in ("KGFS_GARAGE_ENDPOINT", "KGFS_GRAPH_URI", "KGFS_VECTORS_URL"):
        with pytest.raises(BadInputError, match="file") as caught:
            load(home, environ={name: address})
        assert "s3cret-word" not in str(caught.value)


@pytest.mark.claim("SECRET-2")
@pytest.mark.parametrize(
    ("url", "is_open"),
    [
        *(
            (f"http://{host}:1", False)
            for host in ("LocalHost", "localhost.", "ip6-localhost", "me.localhost", "127.9.9.9")
        ),
        *((f"http://{host}:1", True) for host in ("10.0.0.1", "localhost.example.org", "[fe80::1]", "0.0.0.0")),
    ],
)
def test_what_others_can_listen_to(url: str, is_open: bool) -> None:
    assert servers.is_open_to_others(url, encrypted=False) is is_open


@pytest.mark.claim("SECRET-2")
@pytest.mark.parametrize("kind", ["s3", "qdrant"])
def test_nothing_is_said_of_what_is_encrypted_however_that_is_written(
    home: Path, tmp_path: Path, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "secret").write_text("s3cret-word")
    environ = {
        name: value.replace("http://HOST", "HTTPS://server.invalid").replace("FILE", str(tmp_path / "secret"))
        for name, value in SERVERS[kind].items()
    }
    config = load(home, environ=environ)
    (open_garage(config) if kind == "s3" else open_vectors(config, "model/1")).close()
    assert "unencrypted" not in caplog.text


@pytest.mark.claim("SECRET-2")
def test_a_warning_that_cannot_be_noted_keeps_nobody_from_going_on(
    home: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(servers, "_reported", set())
    (home / "run").symlink_to("/proc/self/task")  # where no file can be made, as on a disk that is full
    servers.warn_of_plain_text(load(home), "http://server.invalid", "Use https://.")
    assert caplog.text.count("unencrypted") == 1
    log = home / "log/errors.ndjson"
    assert log.read_text().count("unencrypted") == 1
    log.unlink()


@pytest.mark.parametrize("content", [b"", b"\xff no certificate\n"])
def test_a_file_of_authorities_that_has_none_is_named(home: Path, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "secret").write_text("s3cret-word")
    (tmp_path / "ca.pem").write_bytes(content)
    environ = {
        name: value.replace("HOST", "127.0.0.1").replace("FILE", str(tmp_path / "secret"))
        for name, value in SERVERS["s3"].items()
    }
    config = load(home, environ=environ | {"KGFS_GARAGE_CA_FILE": str(tmp_path / "ca.pem")})
    with pytest.raises(BadInputError, match=r"garage\.ca_file: .*ca\.pem"):
        open_garage(config)


TWO_KEYS = ["s3cret-word\ns3cret-another", "\ufeffs3cret-word", "s3cret-wörd"]
"""Two in one file, one that an editor has put its mark before, one with a letter of no key."""


@pytest.mark.claim("SECRET-1")
@pytest.mark.parametrize("key", TWO_KEYS)
def test_a_key_of_qdrant_that_cannot_be_said_is_named_and_not_shown(
    home: Path, tmp_path: Path, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "key").write_text(key)
    environ = {"KGFS_VECTORS_STORE": "qdrant", "KGFS_VECTORS_URL": "http://127.0.0.1:1"}
    named = load(home, environ=environ | {"KGFS_VECTORS_API_KEY_FILE": str(tmp_path / "key")})
    monkeypatch.setenv("QDRANT_API_KEY", key)
    for config, setting in ((named, "vectors.api_key_file"), (load(home, environ=environ), "QDRANT_API_KEY")):
        with pytest.raises(BadInputError, match=setting) as told:
            open_vectors(config, "model/1")
        assert "s3cret" not in str(told.value)


@pytest.mark.claim("SECRET-1")
@pytest.mark.parametrize("key", TWO_KEYS)
@pytest.mark.parametrize("place", ["files", "variables", "credentials"])
def test_a_key_of_a_bucket_that_cannot_be_said_is_named_and_not_shown(
    home: Path, tmp_path: Path, key: str, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_keys(monkeypatch)
    environ = {"KGFS_GARAGE_STORE": "s3", "KGFS_GARAGE_ENDPOINT": "http://127.0.0.1:1", "KGFS_GARAGE_REGION": "here"}
    if place == "files":
        (tmp_path / "key").write_text(key)
        environ |= {
            name: str(tmp_path / "key") for name in ("KGFS_GARAGE_ACCESS_KEY_FILE", "KGFS_GARAGE_SECRET_KEY_FILE")
        }
    elif place == "variables":
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", key)
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "s3cret-other")
    else:
        reported = key.replace("\n", "\n ")  # which goes on with the value
        (tmp_path / "credentials").write_text(
            f"[default]\naws_access_key_id = {reported}\naws_secret_access_key = s3cret\n"
        )
        monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    garage = open_garage(load(home, environ=environ))
    with pytest.raises(UnavailableError, match=r"no keys to ask with: .*more than one line") as told:
        garage.objects.exists("sources/zen")
    garage.close()
    error: BaseException | None = told.value
    while error is not None:
        assert "s3cret" not in str(error)
        error = error.__cause__ or error.__context__


@pytest.mark.parametrize(
    ("given", "missing"),
    [("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"), ("AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY_ID")],
)
def test_half_a_key_of_a_bucket_is_not_passed_over_for_another(
    home: Path, tmp_path: Path, given: str, missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_keys(monkeypatch)
    (tmp_path / "credentials").write_text("[default]\naws_access_key_id = another\naws_secret_access_key = s3cret\n")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv(given, "s3cret-word")
    environ = {"KGFS_GARAGE_STORE": "s3", "KGFS_GARAGE_ENDPOINT": "http://127.0.0.1:1"}
    garage = open_garage(load(home, environ=environ))
    with pytest.raises(UnavailableError, match=f"no keys to ask with: {missing} is not set") as told:
        garage.objects.exists("sources/zen")
    assert "s3cret" not in str(told.value)
    garage.close()


def test_whoever_looks_after_a_machine_is_told_of_secrets_that_others_may_read(place: Place, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("s3cret-word")
    environ = {
        name: value.replace("HOST", "127.0.0.1").replace("FILE", str(secret))
        for name, value in SERVERS["qdrant"].items()
    }
    for mode, noted in ((0o644, 1), (0o640, 1), (0o600, 0)):
        secret.chmod(mode)
        reported = place.run("doctor", expect=6, env=environ).stdout
        assert reported.count(f"Others may read {secret} (vectors.api_key_file).") == noted
        assert reported.count(f"chmod 600 {secret}") == noted
    assert "Others may read" not in place.run("doctor").stdout


def test_a_cluster_is_asked_whether_it_is_there(home: Path, tmp_path: Path) -> None:
    if importlib.util.find_spec("ray") is None:
        missing("ray", "it is not installed")
    (tmp_path / "secret").write_text("s3cret-word")
    with socket.create_server(("127.0.0.1", 0)) as head:
        environ = {"KGFS_COMPUTE_ENGINE": "ray", "KGFS_COMPUTE_ADDRESS": f"127.0.0.1:{head.getsockname()[1]}"}
        (found,) = asked(load(home, environ=environ))
        assert (found.what, found.where, found.error) == ("cluster", environ["KGFS_COMPUTE_ADDRESS"], None)
        (found,) = asked(load(home, environ=environ | {"KGFS_COMPUTE_TOKEN_FILE": str(tmp_path / "none")}))
        assert "compute.token_file" in str(found.error)
    (found,) = asked(load(home, environ=environ))
    assert environ["KGFS_COMPUTE_ADDRESS"] in str(found.error)
    assert list(asked(load(home, environ=environ), haste=1.0)) == []
    assert list(asked(load(home, environ={"KGFS_COMPUTE_ENGINE": "ray"}))) == []
