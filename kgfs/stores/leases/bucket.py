"""Leases as objects of the garage, for homes that share nothing else.

A lease stands in a folder of its own: ``<token>`` says who holds it and for how long, ``<token>-<n>-<milliseconds>`` that it
was renewed for the ``n``-th time, ``<token>-wanted`` that another asked urgently, ``<token>-over`` that it was let go. The
highest token counts, and stays until a higher is given. Nobody reads a clock of another, or a bucket's: who waits measures for
how long nothing of it has changed, who holds it when it said last that it does.

A bucket has nothing to look at them in the moment of a write, so they are no fence: what is done under them must be
provable otherwise (``facts.GraphFact``).
"""

from __future__ import annotations

import hashlib
import re
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock

from kgfs.errors import ExistsError, LostLeaseError, MissingError
from kgfs.stores.garage.contract import Objects
from kgfs.stores.leases.contract import Lease

LEASES = "leases/"
_WANTED, _OVER = "wanted", "over"
_OURS = re.compile(rf"\d{{12,}}(-(\d+-\d+|{_WANTED}|{_OVER}))?")
"""Names in the folder of a lease; programs that show buckets may put others there."""


@dataclass(frozen=True, slots=True)
class _Sign:
    """What stands in the folder of a lease that was ever given."""

    token: int
    renewed: int
    """How often."""
    milliseconds: int
    """For how long, at the last time; 0 where it never was."""
    marks: frozenset[str]


@dataclass(slots=True)
class _Held:
    until: float
    """When it runs out, by the clock here."""
    renewed: int = 0
    """How often that was tried."""
    renewing: Lock = field(default_factory=Lock)
    """Held by who does."""


class BucketLeases:
    def __init__(self, objects: Objects, clock: Callable[[], float] = time.monotonic) -> None:
        self._objects = objects
        self._clock = clock
        self._lock = Lock()
        self._seen: dict[str, tuple[_Sign, float]] = {}
        """Of others' leases: their last sign of life, and when it was first seen."""
        self._held: dict[Lease, _Held] = {}

    def take(self, what: str, holder: str, seconds: float, *, urgent: bool = False) -> Lease | None:
        sign = self._sign(what)
        if sign is not None and self._lives(what, sign, seconds):
            if urgent and _WANTED not in sign.marks:
                self._mark(what, sign.token, _WANTED)
            return None
        lease, until = Lease(what, sign.token + 1 if sign else 1), self._clock() + seconds
        try:
            self._objects.put(_key(lease), f"{int(seconds * 1000)} {secrets.token_hex(8)} {holder}".encode())
        except ExistsError:
            return None
        now = self._sign(what)
        if now is None or now.token != lease.token:  # others had it, and let it go, since this one looked
            self._objects.delete(_key(lease))
            return None
        with self._lock:
            self._held[lease] = _Held(until)
        for key in self._keys(what):
            if _token(key) < lease.token:
                self._objects.delete(key)
        return lease

    def renew(self, lease: Lease, seconds: float) -> bool:
        held = self._held.get(lease)
        if held is None:
            raise self._lost(lease)
        with held.renewing:
            begun = self._clock()
            sign = self._sign(lease.what) if begun < held.until else None
            if sign is None or sign.token != lease.token or _OVER in sign.marks:
                raise self._lost(lease)
            # One whose end was not heard may have been seen, or be so yet: the same again would tell nobody that it lives.
            held.renewed += 1
            self._mark(lease.what, lease.token, f"{held.renewed}-{int(seconds * 1000)}")
            if sign.renewed:
                self._objects.delete(f"{_key(lease)}-{sign.renewed}-{sign.milliseconds}")
            if self._clock() >= held.until:  # too late perhaps: who waited may have taken it before the mark was there
                raise self._lost(lease)
            held.until = begun + seconds
        return _WANTED in sign.marks

    def _lost(self, lease: Lease) -> LostLeaseError:
        with self._lock:
            self._held.pop(lease, None)
        return LostLeaseError(f"The lease of '{lease.what}' ran out: another machine may have it now.")

    def release(self, lease: Lease) -> None:
        if lease in self._held:
            self._mark(lease.what, lease.token, _OVER)
            with self._lock:  # only now: where the mark could not be put, it is released once more
                self._held.pop(lease, None)

    def close(self) -> None:
        return

    def _sign(self, what: str) -> _Sign | None:
        keys = self._keys(what)
        if not keys:
            return None
        token = max(map(_token, keys))
        marks = {key.rpartition("/")[2].partition("-")[2] for key in keys if _token(key) == token} - {""}
        renewals = [tuple(map(int, mark.split("-"))) for mark in marks - {_WANTED, _OVER}]
        renewed, milliseconds = max(renewals, default=(0, 0))
        return _Sign(token, renewed, milliseconds, frozenset(marks & {_WANTED, _OVER}))

    def _keys(self, what: str) -> list[str]:
        return [key for key, _ in self._objects.keys(_folder(what)) if _OURS.fullmatch(key.rpartition("/")[2])]

    def _lives(self, what: str, sign: _Sign, otherwise: float) -> bool:
        """Whether it is held. ``otherwise`` is how long it lasts where that cannot be told."""
        if _OVER in sign.marks:
            return False
        with self._lock:
            before, since = self._seen.get(what, (None, 0.0))
            if before is None or (before.token, before.renewed) != (sign.token, sign.renewed):
                self._seen[what] = sign, self._clock()
                return True
        seconds = sign.milliseconds / 1000 if sign.milliseconds else self._given_for(what, sign.token, otherwise)
        return self._clock() - since < seconds

    def _given_for(self, what: str, token: int, otherwise: float) -> float:
        try:
            return int(self._objects.get(_key(Lease(what, token))).split()[0]) / 1000
        except MissingError:  # the next has been given
            return otherwise

    def _mark(self, what: str, token: int, mark: str) -> None:
        self._objects.put(f"{_key(Lease(what, token))}-{mark}", b"")


def _folder(what: str) -> str:
    return f"{LEASES}{hashlib.sha256(what.encode()).hexdigest()[:16]}/"


def _key(lease: Lease) -> str:
    return f"{_folder(lease.what)}{lease.token:012}"


def _token(key: str) -> int:
    return int(key.rpartition("/")[2].partition("-")[0])
