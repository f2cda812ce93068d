"""Leases as objects of the garage, for homes that share nothing else.

A lease has a folder of its own with these objects: ``<token>`` says which process holds it and for how long,
``<token>-<n>-<milliseconds>`` that it was renewed for the ``n``-th time, ``<token>-wanted`` that another process
asked urgently, ``<token>-over`` that it was released. The highest token counts, and stays until a higher one is
given. No process reads another's clock, or the bucket's: a process that waits measures for how long the folder has
not changed, and a holder measures from the begin of its last successful renewal.

A bucket cannot check a lease in the moment of a write, so leases are no fence: work under a lease must be verifiable
by other means (``facts.GraphFact``).
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
"""The names in a lease's folder. Programs that browse buckets may put other names there."""


@dataclass(frozen=True, slots=True)
class _Sign:
    """The state of a lease as its folder shows it."""

    token: int
    renewed: int
    """The number of renewals."""
    milliseconds: int
    """The duration of the last renewal, 0 if the lease was never renewed."""
    marks: frozenset[str]
    """The marks ``wanted`` and ``over``, if they are set."""


@dataclass(slots=True)
class _Held:
    """A lease that this process holds."""

    until: float
    """The time when it runs out, by this process's clock."""
    renewed: int = 0
    """The number of attempts to renew it."""
    renewing: Lock = field(default_factory=Lock)
    """Serialises the renewals."""


class BucketLeases:
    """Leases in the objects of a garage (see :class:`~kgfs.stores.leases.contract.Leases`).

    ``clock`` returns seconds of a monotonic clock.
    """

    def __init__(self, objects: Objects, clock: Callable[[], float] = time.monotonic) -> None:
        self._objects = objects
        self._clock = clock
        self._lock = Lock()
        self._seen: dict[str, tuple[_Sign, float]] = {}
        """The last state of leases of other processes, each with the time when it was first seen."""
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
        # another process took and released the lease since the first look
        if now is None or now.token != lease.token:
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
            # An earlier renewal whose answer was lost may be visible, or become so. Repeating its name would be no
            # sign of life, so each attempt has a number of its own.
            held.renewed += 1
            self._mark(lease.what, lease.token, f"{held.renewed}-{int(seconds * 1000)}")
            if sign.renewed:
                self._objects.delete(f"{_key(lease)}-{sign.renewed}-{sign.milliseconds}")
            # too late: a waiting process may have taken the lease before the mark was there
            if self._clock() >= held.until:
                raise self._lost(lease)
            held.until = begun + seconds
        return _WANTED in sign.marks

    def _lost(self, lease: Lease) -> LostLeaseError:
        """Forget the lease, and return the error to raise."""
        with self._lock:
            self._held.pop(lease, None)
        return LostLeaseError(f"The lease of '{lease.what}' ran out: another machine may have it now.")

    def release(self, lease: Lease) -> None:
        if lease in self._held:
            self._mark(lease.what, lease.token, _OVER)
            with self._lock:  # only now: if the mark could not be put, release() may be repeated
                self._held.pop(lease, None)

    def close(self) -> None:
        return

    def _sign(self, what: str) -> _Sign | None:
        """Return the state of the lease of ``what``, or None if it was never given."""
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
        """Return whether the lease is held. ``otherwise`` is its duration in seconds if the duration cannot
        be read."""
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
        """Return the duration in seconds for which a lease was taken."""
        try:
            return int(self._objects.get(_key(Lease(what, token))).split()[0]) / 1000
        except MissingError:  # the next lease has been given
            return otherwise

    def _mark(self, what: str, token: int, mark: str) -> None:
        """Add a mark to a lease."""
        self._objects.put(f"{_key(Lease(what, token))}-{mark}", b"")


def _folder(what: str) -> str:
    return f"{LEASES}{hashlib.sha256(what.encode()).hexdigest()[:16]}/"


def _key(lease: Lease) -> str:
    return f"{_folder(lease.what)}{lease.token:012}"


def _token(key: str) -> int:
    return int(key.rpartition("/")[2].partition("-")[0])
