"""A bucket whose server goes away, hangs and comes back: typed errors in time, and nothing that was acknowledged is lost."""

from __future__ import annotations

import os
import signal
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator, Sized
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import minio.time
import pytest

from kgfs.errors import KgfsError, StoreError, TimedOutError, UnavailableError
from kgfs.stores.garage.contract import BLOCK
from kgfs.stores.garage.s3.bucket import Bucket
from kgfs.stores.garage.s3.cache import Cache
from kgfs.stores.garage.s3.endpoint import Endpoint
from kgfs.stores.garage.s3.garage import S3Garage
from kgfs.stores.garage.s3.ledger import S3Ledger
from kgfs.stores.garage.s3.objects import PART, S3Objects
from scripts.servers import process
from tests.support.ledger_entries import entries, numbered
from tests.support.peers.buckets import S3, Server, started
from tests.support.peers.strangers import stranger
from tests.support.running import until
from tests.support.stopping import stopped


@pytest.fixture(scope="module", params=[*S3])
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One of its own: others are not to notice that it goes."""
    yield from started(request.param, tmp_path_factory.mktemp("outages") / request.param)


@pytest.fixture
def place(server: Server) -> Endpoint:
    return server.place


@contextmanager
def away(server: Server, how: str) -> Iterator[None]:
    """Killed, and started again; or stopped, and continued."""
    found = process.running(server.folder)
    assert found
    if how == "hangs":
        with stopped(found.pid):
            yield
        return
    os.kill(found.pid, signal.SIGKILL)
    process.end(server.folder)
    try:
        yield
    finally:
        server.start()


def test_reading_goes_on_where_a_server_that_was_restarted_broke_off(
    server: Server, place: Endpoint, tmp_path: Path
) -> None:
    content = os.urandom(40 * BLOCK)
    with closing(S3Garage(place, tmp_path / "cache", 0)) as garage:
        garage.objects.put("long", content)
        with closing(garage.objects.open("long")) as reader:
            for number in range(10):
                assert reader.read_at(number * BLOCK, BLOCK) == content[number * BLOCK : (number + 1) * BLOCK]
            with away(server, "killed"):
                pass
            assert reader.read_at(10 * BLOCK, 30 * BLOCK) == content[10 * BLOCK :]


@pytest.mark.parametrize(("how", "error"), [("killed", UnavailableError), ("hangs", TimedOutError)])
def test_an_outage_is_told_in_time_and_what_was_kept_is_there_afterwards(
    server: Server, place: Endpoint, tmp_path: Path, how: str, error: type[KgfsError]
) -> None:
    impatient = replace(place, timeout=1.0)
    with (
        closing(S3Garage(place, tmp_path / "cache", 8 << 20)) as patient,
        closing(S3Garage(impatient, tmp_path / "cache", 8 << 20)) as garage,
    ):
        objects, ledger = patient.objects, patient.ledger
        for number in range(20):
            objects.put(f"a/{number}", b"%d" % number * 1000)
        objects.put("long", bytes(BLOCK) + b"long")
        assert ledger.append(1, entries(1, 3)) == 3
        without = S3Objects(Bucket(place), Cache(tmp_path / "none", 0))
        with away(server, how):
            objects, ledger = garage.objects, garage.ledger
            asks = (
                lambda: objects.put("b/1", b"during"),
                lambda: objects.stat("a/1"),
                lambda: objects.exists("a/1"),
                lambda: objects.names("a"),
                lambda: list(objects.keys()),
                lambda: objects.delete("a/1"),
                lambda: S3Objects(Bucket(impatient), Cache(tmp_path / "none", 0)).get("a/1"),
                lambda: ledger.append(4, entries(4, 4)),
                lambda: list(ledger.replay()),
                lambda: S3Ledger(Bucket(impatient)).last_seq(),
            )
            for ask in asks:
                before = time.monotonic()
                with pytest.raises(error):
                    ask()
                assert time.monotonic() - before < 30  # busy machines are slow; without an end it would be a minute
            assert objects.get("a/7") == b"7" * 1000, "what is cached can be read"
            assert objects.get("long", BLOCK) == b"long"
        objects, ledger = patient.objects, patient.ledger
        assert {key: without.get(key) for key, _ in objects.keys("a/")} == {
            f"a/{number}": b"%d" % number * 1000 for number in range(20) if objects.exists(f"a/{number}")
        }
        # What hung may have been carried out after its asker gave up; all else was not.
        assert objects.exists("a/1") or how == "hangs"
        objects.put("b/1", b"during")
        assert without.get("b/1") == b"during"
        assert ledger.append(4, entries(4, 5)) == 5
        assert list(S3Ledger(Bucket(place)).replay()) == numbered(1, 5)


def until_more(found: Sized, count: int) -> None:
    wanted = len(found) + count
    until(lambda: len(found) >= wanted)


def test_what_is_put_while_a_server_is_killed_again_and_again_is_kept_once_acknowledged(
    server: Server, place: Endpoint, tmp_path: Path
) -> None:
    stop = threading.Event()
    kept: dict[str, bytes] = {}
    told: list[str] = []
    last = 0

    def put() -> None:
        nonlocal last
        with closing(S3Garage(replace(place, timeout=5.0), tmp_path / "cache", 0)) as garage:
            number = 0
            while not stop.is_set():
                content = b"%d" % number * (1 + number % 50_000)
                try:
                    garage.objects.put(f"k/{number}", content)
                    kept[f"k/{number}"] = content
                    last = garage.ledger.append(last + 1, entries(last + 1, last + 1))
                    number += 1
                except (StoreError, TimedOutError) as error:
                    told.append(str(error))

    putting = threading.Thread(target=put)
    putting.start()
    try:
        for _ in range(2):
            until_more(kept, 5)
            with away(server, "killed"):
                until_more(told, 1)
        until_more(kept, 5)
    finally:
        stop.set()
        putting.join()
    objects = S3Objects(Bucket(place), Cache(tmp_path / "none", 0))
    assert {key: objects.get(key) for key in kept} == kept
    ledger = S3Ledger(Bucket(place))
    assert ledger.last_seq() in (last, last + 1)
    assert list(ledger.replay()) == numbered(1, ledger.last_seq())


# ------------------------------------------------------------------------------------------- strangers


HELLO = b"hello"
LATER = {"Retry-After": "60"}
TAGGED = {"ETag": '"5d41402abc4b2a76b9719d911017c592"'}


def keyed(tmp_path: Path, endpoint: str) -> Endpoint:
    key = tmp_path / "key"
    key.write_text("some-key")
    return Endpoint(endpoint, "kgfs", region="us-east-1", access_key_file=key, secret_key_file=key, timeout=5.0)


def test_a_server_that_is_busy_for_a_minute_is_not_waited_for(tmp_path: Path) -> None:
    with stranger(HELLO, 503, LATER) as port:
        before = time.monotonic()
        with pytest.raises(StoreError, match=r"503|no S3 server"):
            Bucket(keyed(tmp_path, f"http://127.0.0.1:{port}")).get("zen")
        assert time.monotonic() - before < 30


def test_a_content_gets_there_by_a_slow_line(tmp_path: Path) -> None:
    """16 MiB in four seconds, where nothing may be silent for three: connecting has a third of them, and no body has as little."""
    place = replace(keyed(tmp_path, "http://127.0.0.1"), timeout=3.0)
    with slow(PART // 4) as port, closing(Bucket(replace(place, endpoint=f"http://127.0.0.1:{port}"))) as bucket:
        bucket._seen = True  # this server answers nothing but a put
        assert bucket.put("zen", bytes(PART), {})


@contextmanager
def slow(rate: int) -> Iterator[int]:
    """Gives the port of one who takes in so many bytes a second, and then says that it was put."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 << 10)

        def take() -> None:
            with suppress(ConnectionError, ValueError), listening.accept()[0] as line, line.makefile("rb") as reported:
                lines = list(iter(reported.readline, b"\r\n"))
                left = next(int(each.split()[1]) for each in lines if each.lower().startswith(b"content-length"))
                while left and (came := len(reported.read(min(64 << 10, left)))):
                    time.sleep(came / rate)
                    left -= came
                line.sendall(b'HTTP/1.1 200 OK\r\nETag: "1"\r\nContent-Length: 0\r\n\r\n')

        thread = threading.Thread(target=take)
        thread.start()
        try:
            yield listening.getsockname()[1]
        finally:
            thread.join()


@pytest.mark.parametrize("region", ["", "us-east-1"])
def test_what_is_no_s3_server_keeps_nothing_and_has_nothing(tmp_path: Path, region: str) -> None:
    with stranger(HELLO, headers=LATER) as port:
        bucket = Bucket(replace(keyed(tmp_path, f"http://127.0.0.1:{port}"), region=region))
        for ask in (
            lambda: bucket.put("zen", b"zen", {}),
            lambda: bucket.replace("zen", b"zen", {}),
            lambda: bucket.head("zen"),
            lambda: bucket.get("zen"),
            lambda: bucket.download("zen", 0, 3),
            lambda: list(bucket.listed("zen")),
        ):
            with pytest.raises(UnavailableError, match=r"no S3 server\. Check garage\.endpoint"):
                ask()


def test_tls_where_none_is_spoken_is_told_as_such(tmp_path: Path) -> None:
    with (
        stranger(HELLO, headers=LATER) as port,
        pytest.raises(UnavailableError, match=r"speaks no TLS\. Check garage\.endpoint"),
    ):
        Bucket(keyed(tmp_path, f"https://127.0.0.1:{port}")).get("zen")


@pytest.mark.parametrize("ahead", [3600, -3600])
def test_a_clock_that_is_off_is_told_as_such(server: Server, monkeypatch: pytest.MonkeyPatch, ahead: int) -> None:
    now = minio.time.utcnow
    monkeypatch.setattr(minio.time, "utcnow", lambda: now() + timedelta(seconds=ahead))
    bucket = Bucket(server.place)
    for ask in (lambda: bucket.put("late", b"zen", {}), lambda: bucket.get("late")):
        with pytest.raises(UnavailableError, match="clock"):
            ask()


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """Of 127.0.0.1, signed by itself."""
    path = tmp_path / "certificate.pem"
    words = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1"]
    subprocess.run(
        [*words, "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", tmp_path / "private.pem", "-out", path],
        check=True,
        capture_output=True,
    )
    return path


def test_certificates_are_verified_unless_their_authority_is_named(certificate: Path, tmp_path: Path) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, tmp_path / "private.pem")
    with stranger(HELLO, headers=LATER | TAGGED, context=context) as port:
        place = keyed(tmp_path, f"https://127.0.0.1:{port}")
        with pytest.raises(UnavailableError, match="certificate is not trusted"):
            Bucket(place).get("zen")
        assert Bucket(replace(place, ca_file=certificate)).get("zen")[1] == b"hello"
