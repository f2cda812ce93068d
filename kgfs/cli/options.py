"""Options that every verb takes."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

import click

from kgfs.config import Config, load
from kgfs.stores.servers import keep_secrets_from_core_dumps

P = ParamSpec("P")
R = TypeVar("R")


def with_config(verb: Callable[Concatenate[Config, P], R]) -> Callable[P, R]:
    """Adds ``--home`` and ``--config`` and passes the loaded configuration first. No verb's memory is dumped where it may
    hold a secret."""

    @click.option("--home", type=Path, help="Where kgfs keeps its state. [KGFS_HOME]")
    @click.option("--config", "file", type=Path, help="Configuration file. [KGFS_CONFIG]")
    @functools.wraps(verb)
    def wrapped(home: Path | None, file: Path | None, *args: P.args, **kwargs: P.kwargs) -> R:
        config = load(home, file)
        keep_secrets_from_core_dumps(config)
        return verb(config, *args, **kwargs)

    return wrapped  # type: ignore[return-value]  # click adds the two options to the signature


as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")


def count(number: int, what: str) -> str:
    """``1 document``, ``2 documents``."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
