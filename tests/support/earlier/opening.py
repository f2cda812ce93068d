"""Open copies of the earlier homes with the present code, and compare what they show with what they showed before."""

from __future__ import annotations

import json
import os
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kgfs.stores.garage.s3.bucket import Bucket
from kgfs.stores.garage.s3.endpoint import Endpoint
from tests.support.earlier.observe import observe
from tests.support.running import Place

DATA = Path(__file__).parents[2] / "data" / "earlier"
FILES, BUCKET = "files", "bucket"
KEPT = ("decisions", "readings", "records", "redactions", "sources", "texts", "vectors")
"""What of a garage never changes. The rest is on its way."""


@dataclass
class Earlier(Place):
    """A copy of an earlier home, whose mounts have their folders."""

    def see(self) -> dict[str, Any]:
        """Mount both views, and return what they show."""
        garage = self.mountpoint.with_name(f"{self.mountpoint.name}.garage")
        for path in (self.mountpoint, garage):
            path.mkdir(exist_ok=True)
        self.mount("--no-worker")
        self.run("mount", "--view", "garage", garage)
        try:
            return lasting(observe(self.mountpoint, garage))
        finally:
            self.run("umount", garage)
            self.umount()


def expected(name: str) -> dict[str, Any]:
    """Return what an earlier home showed to the kgfs that made it."""
    found = json.loads((DATA / f"{name}.json").read_text())
    return lasting({part: found[part] for part in ("ontologies", "searches", "objects", "chunks")})


def lasting(seen: dict[str, Any]) -> dict[str, Any]:
    """Leave out what is not kept for good."""
    return {**seen, "objects": {key: sha for key, sha in seen["objects"].items() if key.split("/")[0] in KEPT}}


def unpacked(name: str, folder: Path) -> Path:
    """Unpack the archive ``name``, and return where."""
    with tarfile.open(DATA / f"{name}.tar.xz") as archive:
        # Debian 12's Python 3.11.2 has no filters, and does not know the argument.
        archive.extraction_filter = getattr(tarfile, "data_filter", lambda member, path: member)
        archive.extractall(folder)
    return folder


def put_objects(folder: Path, place: Endpoint) -> None:
    """Put the unpacked objects of a bucket to ``place``."""
    bucket = Bucket(place)
    for n, row in enumerate(json.loads((folder / "objects.json").read_text())):
        assert bucket.put(row["name"], (folder / str(n)).read_bytes(), row["meta"])


def bind(home: Path, place: Endpoint) -> None:
    """Configure an earlier home for ``place``, and let it take that for the place it was made with."""
    (home / "config.toml").write_text(
        f'[garage]\nstore = "s3"\nshared = true\nendpoint = "{place.endpoint}"\nprefix = "{place.prefix}"\n'
        f'access_key_file = "{place.access_key_file}"\nsecret_key_file = "{place.secret_key_file}"\n'
    )
    note = home / "run" / "stores.json"
    note.write_text(json.dumps({**json.loads(note.read_text()), "garage.prefix": place.prefix}))
    os.chmod(home, 0o700)
