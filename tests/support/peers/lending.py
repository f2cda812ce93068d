"""Keys for a while, with a token, as MinIO lends them, and where programs look for such keys."""

from __future__ import annotations

import configparser
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from minio import MinioAdmin
from minio.credentials.credentials import Credentials
from minio.credentials.providers import AssumeRoleProvider, StaticProvider

from kgfs.stores.garage.s3.endpoint import Endpoint


class Lender:
    """Lends keys of one server; they go with the user who lent them."""

    def __init__(self, place: Endpoint) -> None:
        keys = [file.read_text() for file in (place.access_key_file, place.secret_key_file) if file]
        self._place = place
        self._users: list[str] = []
        self.admin = MinioAdmin(
            endpoint=place.endpoint.removeprefix("http://"), credentials=StaticProvider(*keys), secure=False
        )

    def __call__(self, user: str) -> Credentials:
        self.admin.user_add(user, f"{user}-secret")
        self._users.append(user)
        self.admin.attach_policy(["readwrite"], user=user)
        asking = AssumeRoleProvider(
            sts_endpoint=self._place.endpoint, access_key=user, secret_key=f"{user}-secret"
        ).retrieve()
        assert asking.session_token
        return asking

    def take_back(self, user: str) -> None:
        self._users.remove(user)
        self.admin.user_remove(user)

    def close(self) -> None:
        left = json.loads(self.admin.user_list())
        for user in self._users:
            if user in left:
                self.admin.user_remove(user)


@contextmanager
def lending(place: Endpoint) -> Iterator[Lender]:
    lender = Lender(place)
    try:
        yield lender
    finally:
        lender.close()


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


def without_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the environment."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
