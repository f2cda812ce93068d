"""Keys for a while, given and taken back by a real server: what is told, and how a garage that is open takes others."""

from __future__ import annotations

import configparser
import json
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from minio import MinioAdmin
from minio.credentials import AssumeRoleProvider, Credentials
from minio.credentials.providers import StaticProvider

from kgfs.errors import AwayError, KgfsError
from kgfs.stores.garage.contract import BLOCK
from kgfs.stores.garage.s3.garage import S3Garage
from kgfs.stores.garage.s3.place import Place
from kgfs.stores.garage.s3.speaking import spoken
from tests.peers.buckets import Server
from tests.t1_stores.test_ledger import entries, numbered


@pytest.fixture
def place(minio: Server) -> Place:
    return minio.place


@pytest.fixture
def admin(place: Place) -> MinioAdmin:
    keys = [file.read_text() for file in (place.access_key_file, place.secret_key_file) if file]
    return MinioAdmin(endpoint=place.endpoint.removeprefix("http://"), credentials=StaticProvider(*keys), secure=False)


@pytest.fixture
def lent(place: Place, admin: MinioAdmin) -> Iterator[Callable[[str], Credentials]]:
    """Keys with a token, good for a quarter of an hour, the least there is; they go with the user who lent them."""
    users = []

    def lend(user: str) -> Credentials:
        admin.user_add(user, f"{user}-secret")
        users.append(user)
        admin.attach_policy(["readwrite"], user=user)
        asking = AssumeRoleProvider(
            sts_endpoint=place.endpoint, access_key=user, secret_key=f"{user}-secret", duration_seconds=900
        )
        return asking.retrieve()

    yield lend
    left = json.loads(admin.user_list())
    for user in users:
        if user in left:
            admin.user_remove(user)


def write(file: Path, keys: Credentials) -> None:
    """As ``aws`` and those who fetch keys for a while write them."""
    parser = configparser.ConfigParser()
    parser["default"] = {
        "aws_access_key_id": keys.access_key,
        "aws_secret_access_key": keys.secret_key,
        **({"aws_session_token": keys.session_token} if keys.session_token else {}),
    }
    aside = file.with_suffix(".new")
    with aside.open("w") as out:
        parser.write(out)
    aside.replace(file)


def test_keys_that_are_taken_back_are_told_and_others_in_the_same_file_are_taken(
    place: Place,
    admin: MinioAdmin,
    lent: Callable[[str], Credentials],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file = tmp_path / "credentials"
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY", "AWS_SECRET_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
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

        admin.user_remove("first")
        for ask in (
            lambda: objects.put("later", b"zen"),
            lambda: objects.stat("short"),
            lambda: objects.exists("short"),
            lambda: objects.names(),
            lambda: objects.delete("short"),
            lambda: uncached.objects.get("short"),
            lambda: ledger.append(3, entries(3, 3)),
        ):
            with pytest.raises(AwayError, match="refuses the keys") as caught:
                ask()
            for secret in (first.secret_key, first.session_token):
                assert secret not in f"{caught.value!r} {caught.value.__cause__!r}"
        assert objects.get("short") == b"zen", "what is cached can be read"
        assert objects.get("long") == long

        file.write_text("half of a fi")
        with pytest.raises(AwayError, match="no keys"):
            objects.stat("short")
        file.unlink()
        with pytest.raises(AwayError, match="no keys"):
            objects.stat("short")

        write(file, lent("second"))
        objects.put("later", b"zen")
        assert [uncached.objects.get(key) for key in ("short", "long", "later")] == [b"zen", long, b"zen"]
        assert ledger.append(3, entries(3, 3)) == 3
        assert list(ledger.replay()) == numbered(1, 3)


def test_a_key_of_a_service_that_is_deleted_is_told_and_another_in_the_same_files_is_taken(
    place: Place, admin: MinioAdmin, tmp_path: Path
) -> None:
    files = (tmp_path / "access_key", tmp_path / "secret_key")
    with closing(S3Garage(replace(place, access_key_file=files[0], secret_key_file=files[1]), tmp_path, 0)) as garage:
        for turn in ("first", "second"):
            for file, content in zip(files, (f"{turn}-service", f"{turn}-service-secret"), strict=True):
                file.write_text(content)
            with pytest.raises(AwayError, match="refuses the keys"):
                garage.objects.put(turn, b"zen")
            admin.add_service_account(access_key=f"{turn}-service", secret_key=f"{turn}-service-secret")
            garage.objects.put(turn, b"zen")
            assert garage.objects.get("first") == b"zen"
            admin.delete_service_account(f"{turn}-service")
            with pytest.raises(AwayError, match="refuses the keys"):
                garage.objects.get("first")


@pytest.mark.parametrize(
    "code",
    ["ExpiredToken", "InvalidToken", "InvalidTokenId", "TokenRefreshRequired", "InvalidAccessKeyId", "AccessDenied"],
)
def test_every_way_to_refuse_keys_is_told_alike(code: str) -> None:
    """Servers of all makers; those here say only some of them."""
    from minio.error import S3Error

    with pytest.raises(KgfsError) as caught, spoken("http://bucket", "zen"):
        raise S3Error(None, code, "", None, None, None)  # type: ignore[arg-type]
    assert type(caught.value) is AwayError
    assert code in str(caught.value)
