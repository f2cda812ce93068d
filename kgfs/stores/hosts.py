"""The homes that share a garage, and how far each has followed the ledger that they share.

Each home says so in the garage: the object ``hosts/<id>/<fact>-<seconds>``, whose content is the home's name, says that it
has all facts up to that one and has obeyed the purges among them, and when that was said by the home's clock. A home's
newest word counts. What was read of that last stands in ``hosts.json`` of the home's run folder, so that nobody who asks how
things stand waits for a server.
"""

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
from kgfs.stores.garage.contract import Objects
from kgfs.stores.journal.encoding import decode_if
from kgfs.stores.journal.facts import ForgettingDone
from kgfs.stores.notes import write_note
from kgfs.stores.snapshots.layout import delete_of
from kgfs.stores.stores import Stores
from kgfs.stores.waiting import LEAVING

HOSTS = "hosts/"
_KEY = re.compile(r"hosts/([0-9a-f]{12})/([0-9]+)-([0-9]+)")


@dataclass(frozen=True, slots=True)
class Host:
    id: str
    followed: int
    """The last fact it has followed, all purges up to it obeyed."""
    said_at: int
    """Seconds, by its own clock."""
    name: str
    """Where it is, for people."""


@dataclass(frozen=True, slots=True)
class Purge:
    fact: int
    documents: int
    at: int
    """Seconds, by the clock of the home that carried it out."""


@dataclass(frozen=True, slots=True)
class Roll:
    """All hosts, in order of id, and the purges that not all of them have obeyed, in order."""

    upto: int
    """Purges up to this fact are looked at."""
    read_at: float
    hosts: tuple[Host, ...] = ()
    purges: tuple[Purge, ...] = ()

    @property
    def slowest(self) -> int:
        """Up to which fact all have followed."""
        return min((host.followed for host in self.hosts), default=self.upto)

    def waits_for(self, purge: Purge) -> list[Host]:
        return [host for host in self.hosts if host.followed < purge.fact]


def host_id(config: Config) -> str:
    """This home's: made when it is first asked for. It stays with the home's folder, so a copy of that folder is to be
    given another (remove ``host`` in it)."""
    path = config.home / "host"
    if not path.exists():
        fresh = path.with_name(f"host.{secrets.token_hex(4)}")
        fresh.touch(0o600)
        fresh.write_text(secrets.token_hex(6))
        try:
            os.link(fresh, path)
        except FileExistsError:
            pass  # another process of the home was quicker
        finally:
            fresh.unlink()
    return path.read_text()


def say(config: Config, objects: Objects, followed: int) -> None:
    """This home has followed and obeyed so far."""
    own = f"{HOSTS}{host_id(config)}/"
    key = f"{own}{followed}-{int(time.time())}"
    objects.put(key, f"{socket.gethostname()}:{config.home}".encode())
    for old in [found for found, _ in objects.keys(own) if found != key and _KEY.fullmatch(found)]:
        objects.delete(old)


def are_there(objects: Objects) -> bool:
    """Whether homes share this garage."""
    return any(True for _ in objects.keys(HOSTS))


def strike_off(objects: Objects, host: str) -> bool:
    """Wait for that host no more; whether it was there. One that comes back all the same follows first what it missed,
    obeys it, and stands there again. Snapshots that it left half put are deleted."""
    gone = [objects.delete(key) for key, _ in list(objects.keys(f"{HOSTS}{host}/"))]
    delete_of(objects, host)
    return any(gone)


def is_left_aside(stores: Stores, key: str) -> bool:
    """Whether that is a copy below ``leaving/`` of a home that shares the garage no more, which nothing is to be made of."""
    host, _, original = key.removeprefix(LEAVING).partition("/")
    top, _, rest = original.partition("/")
    if any(True for _ in stores.garage.objects.keys(f"{HOSTS}{host}/")):
        return False
    if top == "sources":
        wanted = stores.journal.promises(original)
    else:
        wanted = stores.journal.names.document(rest.partition("/")[0]) is not None
    return not wanted or stores.garage.objects.exists(original)


def read_roll(config: Config, stores: Stores) -> Roll:
    """As it is in the garage now. Raises what the garage raises."""
    followed = stores.journal.confirmed()
    hosts = tuple(_hosts(stores.garage.objects))
    slowest = min((host.followed for host in hosts), default=followed)
    before = known_roll(config)
    if before and (before.upto > followed or before.slowest > slowest):  # one that was not waited for lacks more
        before = None
    known = before.purges if before else ()
    upto = before.upto if before else min(slowest, followed)
    purges = [purge for purge in (*known, *purges_between(stores, upto, followed)) if purge.fact > slowest]
    roll = Roll(followed, time.time(), hosts, tuple(purges))
    write_note(_path(config), asdict(roll))
    return roll


def known_roll(config: Config) -> Roll | None:
    """As it was read last; None where it never was, or that is lost. Quick, asks no server."""
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
            id_, followed, said_at = found.groups()
            newest[id_] = max(newest.get(id_, (0, 0, "")), (int(said_at), int(followed), key))
    for id_, (when, upto, key) in sorted(newest.items()):
        try:
            yield Host(id_, upto, when, objects.get(key).decode())
        except MissingError:  # it has just said more
            yield Host(id_, upto, when, "")


def purges_between(stores: Stores, after: int, upto: int) -> Iterator[Purge]:
    """Yield the purges that the ledger tells of behind the fact ``after``, up to the fact ``upto``. Asks the ledger."""
    if after >= upto:
        return
    for seq, entry in stores.garage.ledger.replay(after):
        if seq > upto:
            return
        fact = decode_if(entry, ForgettingDone)
        if fact is not None and fact.purge:
            yield Purge(seq, len(fact.doc_ids), fact.at // 10**9)
