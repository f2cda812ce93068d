"""Remove what a kill between two steps leaves of originals that need no bytes of their own: it only takes space."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, suppress

from kgfs.errors import MissingError
from kgfs.stores.garage.contract import GarageObjects, Objects
from kgfs.stores.garage.prefix_links import OF, ON, digest, links_of


def tidy_prefixes(objects: GarageObjects, alone: Callable[[], AbstractContextManager[None]], before: int) -> int:
    """Remove records of links that were not completed, and the own bytes of originals that are linked. Return how many
    objects were removed.

    Only what was stored before the time ``before`` (nanoseconds) is removed, since another process may be about to
    complete it. ``alone`` takes the settle lock, for one object at a time. Costs two listings, and one request for each linked
    original. Raises what the garage raises; then a later call goes on.
    """
    stored = objects.stored
    linked: dict[str, set[str]] = {}
    """By key of a linked object: the digests of its successors."""
    for name, _ in stored.keys(OF):
        key, _, successor = name.removeprefix(OF).rsplit("~", 2)
        linked.setdefault(key, set()).add(successor)
    wanted = {f"{ON}{successor}~{digest(key)}" for key, successors in linked.items() for successor in successors}
    done = 0
    for name in _left(stored, wanted, before):
        with alone():
            done += stored.delete(name)
    for key in linked:
        if stored.exists(key) and stored.entry(key).kept_at < before:
            with alone():
                done += _give_up_twice(objects, key)
    return done


def _left(stored: Objects, wanted: set[str], before: int) -> Iterator[str]:
    """Yield the records that belong to no link of those that were listed."""
    for name, _ in list(stored.keys(ON)):
        with suppress(MissingError):
            if name not in wanted and stored.entry(name).kept_at < before:
                yield name


def _give_up_twice(objects: GarageObjects, key: str) -> bool:
    """Delete the own bytes of a linked object where its link leads to the same bytes."""
    links = links_of(objects.stored, key)
    return any(objects.keep_as_prefix(key, link.successor) for link in links)
