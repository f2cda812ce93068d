"""Real S3 servers behind certificates of an authority of one's own: trusted where it is named, refused where it is not."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kgfs.config import load
from kgfs.errors import UnavailableError
from kgfs.stores.garage.contract import BLOCK
from kgfs.stores.garage.opening import open_garage
from kgfs.stores.garage.s3.bucket import Bucket
from kgfs.stores.garage.s3.endpoint import Endpoint
from kgfs.stores.garage.s3.garage import S3Garage
from scripts.servers import process, s3
from tests.support.certificates import make_certificates
from tests.support.ledger_entries import entries, numbered
from tests.support.peers.buckets import S3, Server, started

LONG = os.urandom(17 << 20)
"""Goes in parts."""


@pytest.fixture(scope="module", params=[*S3])
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("tls") / request.param
    make_certificates(folder / "certs")
    yield from started(request.param, folder)


@pytest.fixture(params=["path-style", "host-style"])
def place(server: Server, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Endpoint:
    if request.param == "path-style":
        return server.place
    resolved = socket.getaddrinfo

    def resolve(host: str, *words: Any, **options: Any) -> Any:
        """As an installation's name server would."""
        return resolved("127.0.0.1" if host.endswith(s3.DOMAIN) else host, *words, **options)

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    port = server.place.endpoint.rpartition(":")[2]
    return replace(server.place, endpoint=f"https://{s3.DOMAIN}:{port}", path_style=False)


def test_a_garage_is_kept_behind_a_certificate_that_is_trusted(place: Endpoint, tmp_path: Path) -> None:
    for path, limit in (("cache", 64 << 20), ("none", 0)):
        with closing(S3Garage(place, tmp_path / path, limit)) as garage:
            for key, content in (("sources/T/short", b"zen"), ("sources/T/long", LONG)):
                garage.objects.put(key, content)
                assert garage.objects.get(key) == content
                assert garage.objects.get(key, BLOCK + 1, 9) == content[BLOCK + 1 : BLOCK + 10]
            assert garage.objects.names("sources/T") == ["long", "short"]
            garage.ledger.append(1, entries(1, 3))
            assert list(garage.ledger.replay()) == numbered(1, 3)
    with closing(S3Garage(place, tmp_path / "none", 0)) as garage:
        assert garage.objects.delete("sources/T/long")
        assert not garage.objects.exists("sources/T/long")


def test_a_certificate_of_an_authority_that_is_not_named_is_refused(place: Endpoint) -> None:
    with pytest.raises(UnavailableError, match=r"certificate is not trusted.*garage\.ca_file"):
        Bucket(replace(place, ca_file=None)).put("zen", b"zen", {})


def test_a_certificate_of_other_hosts_is_refused(server: Server) -> None:
    port = server.place.endpoint.rpartition(":")[2]
    with pytest.raises(UnavailableError, match="certificate is not trusted"):
        Bucket(replace(server.place, endpoint=f"https://localhost:{port}")).put("zen", b"zen", {})


def test_the_setting_names_the_authority(server: Server, tmp_path: Path) -> None:
    found = process.running(server.folder)
    assert found
    (tmp_path / "config.toml").write_text(server.module.settings(server.folder, found.ports))
    config = load(tmp_path, environ={"KGFS_GARAGE_PREFIX": server.place.prefix})
    with closing(open_garage(config)) as garage, pytest.raises(UnavailableError, match="certificate is not trusted"):
        garage.objects.put("zen", b"zen")
    environ = {"KGFS_GARAGE_PREFIX": server.place.prefix, "KGFS_GARAGE_CA_FILE": str(server.folder / "certs/ca.crt")}
    with closing(open_garage(load(tmp_path, environ=environ))) as garage:
        garage.objects.put("zen", b"zen")
        assert garage.objects.get("zen") == b"zen"
