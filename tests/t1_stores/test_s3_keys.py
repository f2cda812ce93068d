"""Keys for a while, given and taken back by a real server: what is told, and how a garage that is open takes others."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from minio import MinioAdmin
from minio.error import S3Error
from urllib3 import HTTPResponse

from kgfs.errors import KgfsError, NoSpaceError, StoreError, UnavailableError
from kgfs.stores.garage.contract import BLOCK
from kgfs.stores.garage.s3.bucket import Bucket
from kgfs.stores.garage.s3.cache import Cache
from kgfs.stores.garage.s3.endpoint import Endpoint
from kgfs.stores.garage.s3.garage import S3Garage
from kgfs.stores.garage.s3.names import object_name
from kgfs.stores.garage.s3.objects import PART, S3Objects
from kgfs.stores.garage.s3.speaking import spoken
from tests.support.ledger_entries import entries, numbered
from tests.support.peers.buckets import S3, Server, started
from tests.support.peers.instance import instance
from tests.support.peers.lending import Lender, lending, without_keys, write


@pytest.fixture
def place(minio: Server) -> Endpoint:
    return minio.place


@pytest.fixture
def lent(place: Endpoint) -> Iterator[Lender]:
    with lending(place) as lender:
        yield lender


@pytest.fixture
def admin(lent: Lender) -> MinioAdmin:
    return lent.admin


def test_keys_that_are_taken_back_are_told_and_others_in_the_same_file_are_taken(
    place: Endpoint,
    lent: Lender,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file = tmp_path / "credentials"
    without_keys(monkeypatch)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(file))
    first = lent("first")
    assert first.session_token
    write(file, first)
    long = bytes(BLOCK) + b"long"
    place = replace(place, access_key_file=None, secret_key_file=None)
    with (
        closing(S3Garage(place, tmp_path / "cache", 8 << 20)) as garage,
        closing(S3Garage(place, tmp_path / "none", 0)) as uncached,
    ):
        objects, ledger = garage.objects, garage.ledger
        objects.put("short", b"zen")
        objects.put("long", long)
        assert ledger.append(1, entries(1, 2)) == 2

        lent.take_back("first")
        for ask in (
            lambda: objects.put("later", b"zen"),
            lambda: objects.stat("short"),
            lambda: objects.exists("short"),
            lambda: objects.names(),
            lambda: objects.delete("short"),
            lambda: uncached.objects.get("short"),
            lambda: ledger.append(3, entries(3, 3)),
        ):
            with pytest.raises(UnavailableError, match="refuses the keys") as caught:
                ask()
            for secret in (first.secret_key, first.session_token):
                assert secret not in f"{caught.value!r} {caught.value.__cause__!r}"
        assert objects.get("short") == b"zen", "what is cached can be read"
        assert objects.get("long") == long

        file.write_text("half of a fi")
        with pytest.raises(UnavailableError, match="no keys"):
            objects.stat("short")
        file.unlink()
        with pytest.raises(UnavailableError, match="no keys"):
            objects.stat("short")

        write(file, lent("second"))
        objects.put("later", b"zen")
        assert [uncached.objects.get(key) for key in ("short", "long", "later")] == [b"zen", long, b"zen"]
        assert ledger.append(3, entries(3, 3)) == 3
        assert list(ledger.replay()) == numbered(1, 3)


def test_keys_of_the_instance_are_kept_until_they_expire_and_then_asked_for_anew(
    place: Endpoint,
    lent: Lender,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    without_keys(monkeypatch)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    place = replace(place, access_key_file=None, secret_key_file=None)
    with instance() as here:
        monkeypatch.setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", f"{here.endpoint}/")
        first = lent("first")
        here.give(first, 3600)
        with closing(S3Garage(place, tmp_path, 0)) as garage:
            for number in range(5):
                garage.objects.put(f"kept/{number}", b"zen")
            assert here.given == 1
        second = lent("second")
        here.give(first, 18)  # eight seconds, for the client asks ten before the end
        with closing(S3Garage(place, tmp_path, 0)) as garage:
            garage.objects.put("first", b"zen")
            here.give(second, 1)
            lent.take_back("first")
            deadline, told = time.monotonic() + 60, set()
            while True:
                try:
                    garage.objects.put("second", b"zen")
                    break
                except UnavailableError as error:
                    assert time.monotonic() < deadline
                    told.add(str(error))
                    time.sleep(0.2)
            assert told and all("refuses the keys" in line for line in told)
            here.take_away()
            with pytest.raises(UnavailableError, match="no keys to ask with") as caught:
                garage.objects.get("second")
            for keys in (first, second):
                assert keys.secret_key not in f"{told} {caught.value!r}" and str(keys.session_token) not in f"{told}"
            here.give(second, 3600)
            assert garage.objects.get("first") == garage.objects.get("second") == b"zen"


def test_an_instance_that_is_silent_is_not_waited_for_long(
    place: Endpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_keys(monkeypatch)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    place = replace(place, access_key_file=None, secret_key_file=None)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        monkeypatch.setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", f"http://127.0.0.1:{port}")
        with (
            closing(S3Garage(place, tmp_path, 0)) as garage,
            pytest.raises(UnavailableError, match="no keys to ask with"),
        ):
            garage.objects.stat("zen")


def test_a_key_of_a_service_that_is_deleted_is_told_and_another_in_the_same_files_is_taken(
    place: Endpoint, admin: MinioAdmin, tmp_path: Path
) -> None:
    files = (tmp_path / "access_key", tmp_path / "secret_key")
    with closing(S3Garage(replace(place, access_key_file=files[0], secret_key_file=files[1]), tmp_path, 0)) as garage:
        for turn in ("first", "second"):
            for file, content in zip(files, (f"{turn}-service", f"{turn}-service-secret"), strict=True):
                file.write_text(content)
            with pytest.raises(UnavailableError, match="refuses the keys"):
                garage.objects.put(turn, b"zen")
            admin.add_service_account(access_key=f"{turn}-service", secret_key=f"{turn}-service-secret")
            garage.objects.put(turn, b"zen")
            assert garage.objects.get("first") == b"zen"
            admin.delete_service_account(f"{turn}-service")
            with pytest.raises(UnavailableError, match="refuses the keys"):
                garage.objects.get("first")


def test_keys_that_may_only_read_are_told_and_read(place: Endpoint, admin: MinioAdmin, tmp_path: Path) -> None:
    with closing(S3Garage(place, tmp_path / "none", 0)) as garage:
        garage.objects.put("short", b"zen")
        assert garage.ledger.append(1, entries(1, 1)) == 1
    looking = {"Effect": "Allow", "Action": ["s3:GetObject", "s3:ListBucket"], "Resource": ["arn:aws:s3:::*"]}
    policy: dict[str, object] = {"Version": "2012-10-17", "Statement": [looking]}
    files = (tmp_path / "access_key", tmp_path / "secret_key")
    for file, content in zip(files, ("looker", "looker-secret"), strict=True):
        file.write_text(content)
    admin.add_service_account(access_key="looker", secret_key="looker-secret", policy=policy)
    mine = replace(place, region="us-east-1", access_key_file=files[0], secret_key_file=files[1])
    with closing(S3Garage(mine, tmp_path, 0)) as garage:
        for ask in (
            lambda: garage.objects.put("later", b"zen"),
            lambda: garage.objects.put("long", bytes(PART + 1)),
            lambda: garage.objects.delete("short"),
            lambda: garage.ledger.append(2, entries(2, 2)),
        ):
            with pytest.raises(UnavailableError, match=r"AccessDenied.* what they may do"):
                ask()
        assert garage.objects.get("short") == b"zen"
        assert (garage.objects.names(), garage.ledger.last_seq()) == (["short"], 1)
        admin.delete_service_account("looker")
        admin.add_service_account(access_key="looker", secret_key="looker-secret")
        garage.objects.put("later", b"zen")
        assert garage.ledger.append(2, entries(2, 2)) == 2


def test_keys_that_may_not_list_uploads_keep_and_purge(place: Endpoint, admin: MinioAdmin, tmp_path: Path) -> None:
    content = bytes(PART + 1)
    actions = [
        f"s3:{what}" for what in ("GetObject", "PutObject", "DeleteObject", "ListBucket", "AbortMultipartUpload")
    ]
    allowed = {"Effect": "Allow", "Action": actions, "Resource": ["arn:aws:s3:::*"]}
    files = (tmp_path / "access_key", tmp_path / "secret_key")
    for file, reported in zip(files, ("keeper", "keeper-secret"), strict=True):
        file.write_text(reported)
    with closing(S3Garage(place, tmp_path / "none", 0)) as garage:
        garage.objects.put("short", b"zen")
    admin.add_service_account(
        access_key="keeper", secret_key="keeper-secret", policy={"Version": "2012-10-17", "Statement": [allowed]}
    )
    mine = replace(place, region="us-east-1", access_key_file=files[0], secret_key_file=files[1])
    with closing(Bucket(mine)) as bucket:
        with pytest.raises(UnavailableError, match="AccessDenied"):
            list(bucket.uploads(object_name("long")))
        kept = S3Objects(bucket, Cache(tmp_path / "none", 0))
        kept.put("long", content)
        assert kept.get("long") == content
        assert list(kept.left_over()) == []
        kept.sweep()
        assert kept.delete("long")


def test_another_region_is_told_and_the_right_one_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that was told of one, for else it takes any. What is asked for alone is refused without a word of the reason."""
    monkeypatch.setenv("MINIO_REGION", "eu-west-3")
    for server in started("minio", tmp_path / "minio", "eu-west-3"):
        right = server.place
        with closing(S3Garage(right, tmp_path / "none", 0)) as garage:
            garage.objects.put("short", b"zen")
            assert garage.ledger.append(1, entries(1, 1)) == 1
        with closing(S3Garage(replace(right, region="us-east-1"), tmp_path / "none", 0)) as garage:
            for ask in (
                lambda: garage.objects.put("later", b"zen"),
                lambda: garage.objects.put("long", bytes(PART + 1)),
                lambda: garage.objects.get("short"),
                lambda: garage.objects.stat("short"),
                lambda: garage.objects.names(),
                lambda: list(garage.objects.keys()),
                lambda: garage.objects.delete("short"),
                lambda: garage.ledger.last_seq(),
                lambda: garage.ledger.append(2, entries(2, 2)),
            ):
                with pytest.raises(UnavailableError, match=r"refuses .*\bregion .*garage\.region"):
                    ask()
        # Where none is set the server is asked for that of a bucket; of one that is to be made there is nobody to ask.
        new = replace(right, bucket="new")
        with (
            closing(S3Garage(replace(new, region=""), tmp_path / "none", 0)) as garage,
            pytest.raises(UnavailableError, match=r"Set garage\.region"),
        ):
            garage.create_bucket()
        for place in (replace(right, region=""), right, new):
            with closing(S3Garage(place, tmp_path / "none", 0)) as garage:
                assert garage.create_bucket() is (place is new)
                garage.objects.put("later", b"zen")
                assert garage.objects.names() == ["later"] if place is new else ["later", "short"]


@pytest.mark.parametrize("kind", [*S3])
def test_a_server_that_was_told_of_no_region_takes_any(kind: str, request: pytest.FixtureRequest) -> None:
    server: Server = request.getfixturevalue(kind)
    with closing(Bucket(replace(server.place, region="eu-west-3"))) as bucket:
        assert bucket.put("zen", b"zen", {})
        assert bucket.get("zen")[1] == b"zen"


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("AuthorizationHeaderMalformed", r"Set garage\.region"),
        ("PermanentRedirect", r"Set garage\.region"),
        ("BadRequest", r"garage\.region"),
        ("BadRequest", r"keys"),
        ("RequestTimeTooSkewed", "Set the clock"),
        ("XMinioStorageFull", "no space left .* Make room there"),
        ("InternalError", "room on its disks"),
        ("SlowDownWrite", "busy"),
    ],
)
def test_what_a_server_refuses_is_told_with_what_to_do(code: str, words: str) -> None:
    with pytest.raises((UnavailableError, NoSpaceError), match=words), spoken("http://bucket", "zen"):
        raise refused(code, 400)


@pytest.mark.parametrize(
    ("code", "status", "later"),
    [
        ("ErrTooManyRequest", 503, True),
        ("TooManyRequests", 429, True),
        ("AccountProblem", 403, True),
        ("AllAccessDisabled", 403, True),
        ("InvalidObjectState", 403, False),
        ("Whatever", 500, True),
        ("NotImplemented", 501, False),
        ("InvalidArgument", 400, False),
    ],
)
def test_what_a_server_cannot_now_it_may_later(code: str, status: int, later: bool) -> None:
    """Each maker has words of his own for being asked too much; the number is everybody's."""
    with pytest.raises(StoreError) as caught, spoken("http://bucket", "zen"):
        raise refused(code, status)
    assert isinstance(caught.value, UnavailableError) == later
    assert code in str(caught.value)


def refused(code: str, status: int) -> S3Error:
    return S3Error(HTTPResponse(status=status), code, "", None, None, None)


@pytest.mark.parametrize(
    "code",
    ["ExpiredToken", "InvalidToken", "InvalidTokenId", "TokenRefreshRequired", "InvalidAccessKeyId", "AccessDenied"],
)
def test_every_way_to_refuse_keys_is_told_alike(code: str) -> None:
    """Servers of all makers; those here say only some of them."""
    with pytest.raises(KgfsError) as caught, spoken("http://bucket", "zen"):
        raise refused(code, 403)
    assert isinstance(caught.value, UnavailableError)
    assert code in str(caught.value)
