"""The homes that share a garage, and the position of each in the ledger that they share.

Each home publishes its position in the garage. The object ``hosts/<id>/<fact>-<seconds>``, whose content is the
home's name, states that the home has all facts up to that number, has carried out the purges among them, and when
this was written by the home's clock. The newest object of a home counts. The last state read is cached in
``hosts.json`` of the home's run folder, so that status queries ask no server."""

from __future__ import annotations

import json
import os
import re
import secrets
import socket
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from kgfs.config import Config
from kgfs.errors import MissingError
from kgfs.stores.catalog.encoding import decode_if
from kgfs.stores.catalog.facts import ForgettingDone
from kgfs.stores.garage.contract import Objects
from kgfs.stores.pending_uploads import LEAVING, WAITING, is_awaited
from kgfs.stores.run_files import write_note
from kgfs.stores.snapshots.layout import delete_of
from kgfs.stores.stores import Stores

HOSTS = "hosts/"
_KEY = re.compile(r"hosts/([0-9a-f]{12})/([0-9]+)-([0-9]+)")


@dataclass(frozen=True, slots=True)
class Host:
    """A home that shares the garage, with its newest published position."""

    id: str
    followed: int
    """The number of the last fact that the home has followed. All purges up to it are carried out."""
    reported_at: int
    """Unix time in seconds, by the home's own clock."""
    name: str
    """Host name and path of the home, for people."""


@dataclass(frozen=True, slots=True)
class Purge:
    """A purge recorded in the ledger. ``documents`` is the number of documents purged."""

    fact: int
    documents: int
    at: int
    """Unix time in seconds, by the clock of the home that carried out the purge first."""


@dataclass(frozen=True, slots=True)
class Roll:
    """All hosts, ordered by id, and the purges that not all of them have carried out, in order."""

    upto: int
    """The number of the last fact up to which purges were searched."""
    read_at: float
    hosts: tuple[Host, ...] = ()
    purges: tuple[Purge, ...] = ()

    @property
    def slowest(self) -> int:
        """Return the number of the fact up to which all hosts have followed the ledger."""
        return min((host.followed for host in self.hosts), default=self.upto)

    def waits_for(self, purge: Purge) -> list[Host]:
        """Return the hosts that have not carried out a purge."""
        return [host for host in self.hosts if host.followed < purge.fact]


def host_id(config: Config) -> str:
    """Return this home's id, creating it on the first call. The id is stored in the home's folder, so a copy of
    the folder needs another one (delete the file ``host`` in it)."""
    path = config.home / "host"
    if not path.exists():
        fresh = path.with_name(f"host.{secrets.token_hex(4)}")
        fresh.touch(0o600)
        fresh.write_text(secrets.token_hex(6))
        try:
            os.link(fresh, path)
        except FileExistsError:
            pass  # another process of the home has made it meanwhile
        finally:
            fresh.unlink()
    return path.read_text()


def say(config: Config, objects: Objects, followed: int) -> None:
    """Publish that this home has followed the ledger, purges included, up to fact ``followed``. Deletes the home's
    older objects."""
    own = f"{HOSTS}{host_id(config)}/"
    key = f"{own}{followed}-{int(time.time())}"
    objects.put(key, f"{socket.gethostname()}:{config.home}".encode())
    for old in [found for found, _ in objects.keys(own) if found != key and _KEY.fullmatch(found)]:
        objects.delete(old)


def are_there(objects: Objects) -> bool:
    """Return whether homes share this garage."""
    return any(True for _ in objects.keys(HOSTS))


def strike_off(objects: Objects, host: str) -> bool:
    """Remove a host from the roll, so that purges do not wait for it; return whether it was there. If that home
    comes back, it first follows the facts that it missed, carries out their purges, and appears in the roll again.
    Its incomplete snapshots are deleted."""
    gone = [objects.delete(key) for key, _ in list(objects.keys(f"{HOSTS}{host}/"))]
    delete_of(objects, host)
    return any(gone)


def is_left_aside(stores: Stores, key: str) -> bool:
    """Return whether ``key`` is a copy below ``leaving/`` that can be deleted: its home does not share the garage
    any more, and its original is either not needed or still in the garage."""
    host, _, original = key.removeprefix(LEAVING).partition("/")
    top, _, rest = original.partition("/")
    if any(True for _ in stores.garage.objects.keys(f"{HOSTS}{host}/")):
        return False
    if top == "sources":
        wanted = stores.catalog.promises(original)
    else:
        wanted = stores.catalog.names.document(rest.partition("/")[0]) is not None
    return not wanted or stores.garage.objects.exists(original)


def is_left_behind(stores: Stores, key: str) -> bool:
    """Return whether ``key`` is a pending upload or a copy set aside that nobody needs, as far as this home knows.

    A killed process or a home that shares the garage no more left it. Another home that has put a pending upload may not
    have told of it yet.
    """
    if key.startswith(LEAVING):
        return is_left_aside(stores, key)
    return key.startswith(WAITING) and not is_awaited(stores.catalog, key)


def read_roll(config: Config, stores: Stores) -> Roll:
    """Return the roll as the garage has it now, and cache it. Raises the errors of the garage."""
    followed = stores.catalog.confirmed()
    hosts = tuple(_hosts(stores.garage.objects))
    slowest = min((host.followed for host in hosts), default=followed)
    before = known_roll(config)
    if before and (before.upto > followed or before.slowest > slowest):  # a host that came back is behind the cache
        before = None
    known = before.purges if before else ()
    upto = before.upto if before else min(slowest, followed)
    purges = [purge for purge in (*known, *purges_between(stores, upto, followed)) if purge.fact > slowest]
    roll = Roll(followed, time.time(), hosts, tuple(purges))
    write_note(_path(config), asdict(roll))
    return roll


def known_roll(config: Config) -> Roll | None:
    """Return the roll as it was last read; None if it never was or the cache is lost. Quick, asks no server."""
    try:
        found = json.loads(_path(config).read_text())
        hosts = tuple(Host(**host) for host in found["hosts"])
        return Roll(found["upto"], found["read_at"], hosts, tuple(Purge(**purge) for purge in found["purges"]))
    except (FileNotFoundError, ValueError, LookupError, TypeError):
        return None


def _path(config: Config) -> Path:
    return config.run / "hosts.json"


def _hosts(objects: Objects) -> Iterator[Host]:
    newest: dict[str, tuple[int, int, str]] = {}
    for key, _ in objects.keys(HOSTS):
        if found := _KEY.fullmatch(key):
            id_, followed, reported_at = found.groups()
            newest[id_] = max(newest.get(id_, (0, 0, "")), (int(reported_at), int(followed), key))
    for id_, (when, upto, key) in sorted(newest.items()):
        try:
            yield Host(id_, upto, when, objects.get(key).decode())
        except MissingError:  # the host has just replaced it by a newer one
            yield Host(id_, upto, when, "")
        objects.forget(key)  # its home deletes it, and would leave it in this home's cache


def purges_between(stores: Stores, after: int, upto: int) -> Iterator[Purge]:
    """Yield the purges in the ledger after fact ``after``, up to fact ``upto``. Reads the ledger."""
    if after >= upto:
        return
    for seq, entry in stores.garage.ledger.replay(after):
        if seq > upto:
            return
        fact = decode_if(entry, ForgettingDone)
        if fact is not None and fact.purge:
            yield Purge(seq, len(fact.doc_ids), fact.at // 10**9)
