"""What ``kgfs check`` finds of a garage in a bucket that one in files cannot have."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from kgfs.app.home import open_home
from kgfs.app.upkeep import check_home
from kgfs.config import Config, load
from kgfs.stores.damage import Kind
from kgfs.stores.garage.s3.bucket import Bucket
from kgfs.stores.garage.s3.endpoint import Endpoint
from kgfs.stores.garage.s3.names import object_name
from tests.support.peers.buckets import Server

KEY = "sources/Zen/0123456789abcdef0123456789abcdef.txt"


@pytest.fixture
def place(seaweedfs: Server) -> Endpoint:
    return seaweedfs.place


@pytest.fixture
def config(place: Endpoint, home: Path) -> Iterator[Config]:
    plain = load(home)
    settings = replace(
        plain.garage_store,
        store="s3",
        endpoint=place.endpoint,
        prefix=place.prefix,
        access_key_file=str(place.access_key_file),
        secret_key_file=str(place.secret_key_file),
    )
    found = replace(plain, garage_store=settings)
    with open_home(found):
        pass
    yield found


def found_in(config: Config, *, mend: bool = False) -> list[tuple[Kind, str]]:
    return [
        (damage.kind, done) for damage, done in check_home(config, deep=False, mend=mend, progress=lambda *about: None)
    ]


@pytest.mark.claim("BUCKET-6")
def test_an_upload_that_was_not_ended(config: Config, place: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(Bucket(place)) as bucket:
        client = bucket._client()
        client._create_multipart_upload(place.bucket, f"{place.prefix}/{object_name(KEY)}", {})
        assert found_in(config) == [], "somebody may be at it"
        monkeypatch.setattr("kgfs.knowledge.timing.UPLOAD_RUNNING", -60.0)
        assert found_in(config) == [(Kind.LEFT_UPLOAD, "")]
        assert found_in(config, mend=True) == [(Kind.LEFT_UPLOAD, "")], "it is not a day old"
        assert list(bucket.uploads(object_name(KEY)))
        monkeypatch.setattr("kgfs.ingest.timing.UPLOAD_ENDS", -60.0)
        assert found_in(config, mend=True) == [(Kind.LEFT_UPLOAD, "aborted")]
        assert found_in(config) == []
        assert list(bucket.uploads(object_name(KEY))) == []


@pytest.mark.claim("BUCKET-5")
def test_cached_files_of_what_is_not_in_the_bucket(config: Config, place: Endpoint) -> None:
    with open_home(config) as stores:
        for name in ("staying", "going"):
            stores.garage.objects.put(f"redactions/{name}.json", b"{}")
    with closing(Bucket(place)) as bucket:
        bucket.delete(object_name("redactions/going.json"))
    (config.garage_cache / "tmp-1").touch()
    assert found_in(config) == [(Kind.LEFT_CACHE, "")] * 2
    assert found_in(config, mend=True) == [(Kind.LEFT_CACHE, "removed")] * 2
    assert found_in(config) == []
    kept = [path for path in config.garage_cache.rglob("*") if path.is_file() and path.name != "state"]
    assert len(kept) == 1
