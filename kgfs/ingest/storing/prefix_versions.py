"""Give up the bytes of versions that are the beginning of their successor, as those of transcripts and logs are."""

from __future__ import annotations

from itertools import pairwise

from kgfs.stores.garage.prefixes import MIN_LINKED
from kgfs.stores.stores import Stores

STEPS = 8
"""Earlier versions that are looked at when a version is minted. More than one is left only by a kill, an outage, or a
kgfs from before; the rest follows with the next versions."""


def give_up_prefixes(stores: Stores, name_id: int) -> int:
    """Have the versions of a path need no bytes of their own where they are the beginning of the version after them;
    return how many do so from now on.

    Looks at the newest versions only, and stops at the first that keeps its bytes. Costs reading and hashing as many
    bytes as such a version has, and nothing worth naming for other files. The caller holds the settle lock. Idempotent;
    a kill at any point loses nothing. Raises what the garage raises.
    """
    done = 0
    newest_first = [*reversed(stores.catalog.names.versions(name_id))]
    for later, earlier in pairwise(newest_first[: STEPS + 1]):
        if not MIN_LINKED <= earlier.size < later.size:
            break
        if not stores.garage.objects.keep_as_prefix(earlier.key, later.key):
            break
        done += 1
    return done
