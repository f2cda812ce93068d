"""Facts as entries of the ledger: one JSON object a line, ``{"fact": <class name>, ...fields}``, without fields that are None.

A field that an older ledger does not have takes its default; an entry that is not understood stops a replay.
"""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any, get_args

from kgfs.errors import StoreError
from kgfs.stores.journal.facts import Fact

_KINDS: dict[str, type[Any]] = {kind.__name__: kind for kind in get_args(Fact)}

_FIELDS = {kind: tuple(field.name for field in fields(kind)) for kind in _KINDS.values()}


def encode(fact: Fact) -> bytes:
    body: dict[str, object] = {"fact": type(fact).__name__}
    for name in _FIELDS[type(fact)]:
        value = getattr(fact, name)
        if value is not None:
            body[name] = value
    return json.dumps(body, ensure_ascii=True, separators=(",", ":")).encode()


def decode(entry: bytes) -> Fact:
    try:
        body = json.loads(entry)
        kind = _KINDS[body.pop("fact")]
        fact: Fact = kind(**{name: tuple(value) if isinstance(value, list) else value for name, value in body.items()})
    except (ValueError, KeyError, TypeError) as error:
        raise StoreError(
            f"Ledger entry not understood ({error}): {entry[:200]!r}. A newer kgfs may have written it."
        ) from error
    return fact
