"""The keys of snapshots in a bucket, and the manifest that describes a snapshot."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Iterator
from dataclasses import asdict, dataclass

from kgfs.errors import MissingError, StoreError
from kgfs.stores.garage.contract import Objects

SNAPSHOTS = "snapshots/"
MANIFEST = "manifest.json"
FORMAT = 1
"""The format of the manifest and of the parts. A snapshot of another format is not used."""
KEPT = 2
"""The number of complete snapshots that stay when a newer one is put."""
NAMES, GRAPH, VECTORS = "names", "graph", "vectors"

_FOLDER = re.compile(r"snapshots/(\d{12})-([0-9a-f]{12})-([0-9a-f]{8})/")


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a file, compressed with zlib and stored as one object."""

    size: int
    """Bytes of the piece before compression."""
    sha256: str
    """The SHA-256 of the piece before compression."""


@dataclass(frozen=True, slots=True)
class File:
    """One SQLite file of a snapshot."""

    name: str
    """``names``, ``graph`` or ``vectors``."""
    position: int
    """The number of the ledger's last fact that the file holds."""
    schema: int
    """The format of its tables (SQLite's ``user_version``)."""
    size: int
    parts: tuple[Part, ...]
    """The parts in order. Their hashes prove the whole file."""
    model: str = ""
    """The embedding model, for ``vectors``; else empty."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """The description of one complete snapshot."""

    folder: str
    """The prefix of all keys of the snapshot, with a slash at its end."""
    made_at: int
    """Unix time in seconds, by the clock of the home that made the snapshot."""
    files: tuple[File, ...]

    @property
    def position(self) -> int:
        """Return the number of the fact up to which every file holds the ledger. The folder is named after it."""
        return position_of(self.folder)

    @property
    def size(self) -> int:
        """Return the bytes of all files before compression."""
        return sum(file.size for file in self.files)

    def file(self, name: str) -> File | None:
        """Return the file called ``name``; None if the snapshot has none."""
        return next((file for file in self.files if file.name == name), None)


def new_folder(position: int, host: str) -> str:
    """Return the prefix of a new snapshot of the home ``host``."""
    return f"{SNAPSHOTS}{position:012}-{host}-{secrets.token_hex(4)}/"


def position_of(folder: str) -> int:
    """Return the position in the name of a folder, or of a key in it; 0 if the name is not that of a snapshot."""
    found = _FOLDER.match(folder)
    return int(found[1]) if found else 0


def host_of(folder: str) -> str:
    """Return the id of the home that put a snapshot; '' if the name is not that of a snapshot."""
    found = _FOLDER.match(folder)
    return found[2] if found else ""


def key_of_part(folder: str, name: str, number: int) -> str:
    """Return the key of part ``number`` of a file."""
    return f"{folder}{name}.sqlite.{number:05}"


def encode(manifest: Manifest) -> bytes:
    """Return the stored form of a manifest, JSON. The folder is not part of it."""
    body = asdict(manifest)
    del body["folder"]
    return json.dumps({"format": FORMAT, **body}, sort_keys=True).encode()


def decode(folder: str, raw: bytes) -> Manifest:
    """Return the manifest in these bytes. Raises StoreError if they are not a manifest of the format known here."""
    try:
        body = json.loads(raw)
        if body.pop("format") != FORMAT:
            raise StoreError(f"{folder}: of another format, written by another version of kgfs.")
        files = [File(**{**file, "parts": tuple(Part(**part) for part in file["parts"])}) for file in body["files"]]
        return Manifest(folder, body["made_at"], tuple(files))
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise StoreError(f"{folder}: no manifest ({error}).") from error


def folders(objects: Objects) -> dict[str, list[str]]:
    """Return the keys of each snapshot, complete or not, by folder, the newest folder last. Makes one listing
    request."""
    found: dict[str, list[str]] = {}
    for key, _ in objects.keys(SNAPSHOTS):
        found.setdefault(key.rpartition("/")[0] + "/", []).append(key)
    return dict(sorted(found.items()))


def is_complete(keys: list[str]) -> bool:
    """Return whether the keys of a snapshot include its manifest."""
    return any(key.endswith(f"/{MANIFEST}") for key in keys)


def complete(objects: Objects) -> list[str]:
    """Return the folders of the complete snapshots, the newest last."""
    return [folder for folder, keys in folders(objects).items() if is_complete(keys)]


def manifests(objects: Objects) -> Iterator[Manifest | StoreError]:
    """Yield the manifest of each complete snapshot, the newest first; for one that cannot be read, yield the
    StoreError."""
    for folder in reversed(complete(objects)):
        try:
            yield decode(folder, objects.get(folder + MANIFEST))
        except MissingError:
            continue  # deleted since the listing
        except StoreError as error:
            yield error


def delete_folder(objects: Objects, keys: list[str]) -> None:
    """Delete a snapshot, its manifest first, so that no reader takes a half-deleted snapshot for a complete one."""
    for key in sorted(keys, key=lambda key: not key.endswith(f"/{MANIFEST}")):
        objects.delete(key)


def delete_before(objects: Objects, fact: int) -> int:
    """Delete every snapshot, complete or not, whose position is below ``fact``, the number of a purge. Return how
    many snapshots were deleted."""
    return _delete(objects, [folder for folder in folders(objects) if position_of(folder) < fact])


def delete_of(objects: Objects, host: str) -> int:
    """Delete the incomplete snapshots of the home ``host``. Return how many snapshots were deleted."""
    found = folders(objects)
    return _delete(objects, [folder for folder in found if host_of(folder) == host and not is_complete(found[folder])])


def delete_old(objects: Objects) -> int:
    """Delete all complete snapshots but the newest ``KEPT``. Incomplete ones stay, since another home may be
    putting them. Return how many snapshots were deleted."""
    return _delete(objects, complete(objects)[:-KEPT])


def _delete(objects: Objects, unwanted: list[str]) -> int:
    found = folders(objects) if unwanted else {}
    for folder in unwanted:
        delete_folder(objects, found.get(folder, []))
    return len(unwanted)
