"""Define what commands share: the options that every command takes, and a question before a change that cannot easily be
undone.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

import click

from kgfs.config import Config, default_home, load
from kgfs.stores.core_dumps import keep_secrets_from_core_dumps
from kgfs.stores.mount_files import home_at, mount_notes

P = ParamSpec("P")
R = TypeVar("R")


def with_config(verb: Callable[Concatenate[Config, P], R]) -> Callable[P, R]:
    """Add ``--home`` and ``--config`` to a command, and pass the loaded configuration as its first argument.

    Without ``--home``, the home is that of the mount that contains a path among the command's arguments; else that of
    the mount that contains the working directory; else as for :func:`with_own_config`.
    """
    return _with_config(verb, _mounted_home)


def with_own_config(verb: Callable[Concatenate[Config, P], R]) -> Callable[P, R]:
    """Add the options as :func:`with_config` does, to a command that does not derive the home from a mount.

    Without ``--home``, the home is the one of ``KGFS_HOME``, else the default home.
    """
    return _with_config(verb, lambda words: None)


def _with_config(
    verb: Callable[Concatenate[Config, P], R], mounted_home: Callable[[Iterable[object]], Path | None]
) -> Callable[P, R]:
    @click.option("--home", type=Path, help="Where kgfs keeps its state. [KGFS_HOME]")
    @click.option("--config", "file", type=Path, help="Configuration file. [KGFS_CONFIG]")
    @functools.wraps(verb)
    def wrapped(home: Path | None, file: Path | None, *args: P.args, **kwargs: P.kwargs) -> R:
        mounted = mounted_home(kwargs.values()) if home is None else None
        if mounted is None or mounted == default_home().absolute():
            config = load(home, file)
        else:
            file = file or next((note.file for note in mount_notes(mounted / "run") if note.file), None)
            config = load(mounted, file, {name: os.environ[name] for name in os.environ if name != "KGFS_CONFIG"})
        # A core dump of a command must not contain a secret.
        keep_secrets_from_core_dumps(config)
        return verb(config, *args, **kwargs)

    return wrapped  # type: ignore[return-value]  # click adds the two options to the signature


def _mounted_home(words: Iterable[object]) -> Path | None:
    """Return the home of the mount that contains one of the words, taken as a path, or the working directory; None if
    there is none. The call waits for no mount.
    """
    paths = [path for word in words for path in (word if isinstance(word, tuple) else (word,))]
    try:
        here = Path.cwd()
    except OSError:  # the directory was removed, or its mount was detached
        here = Path("/")
    for path in (*paths, here):
        if isinstance(path, str | Path):
            lies = Path(os.path.normpath(here / path))
            found = home_at(lies) or home_at(Path(os.path.realpath(lies.parent)) / lies.name)
            if found is not None:
                return found
    return None


as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")


def count(number: int, what: str) -> str:
    """Return the number with its noun, such as ``1 document`` or ``2 documents``."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def confirm(question: str) -> None:
    """Ask the question, and return if the answer is yes.

    Raise click.Abort (exit code 1) if the answer is no, and UnansweredError (exit code 2) if stdin has no answer and
    is no terminal.
    """
    if sys.stdin.isatty():
        click.confirm(question, abort=True, err=True)
        return
    answer = sys.stdin.readline().strip().casefold()
    if not answer:
        raise UnansweredError(f"'{question}' needs an answer, and stdin has none: give --yes.")
    click.echo(f"{question} {answer}", err=True)
    if answer not in ("y", "yes"):
        raise click.Abort


class UnansweredError(click.ClickException):
    """A question was asked where nobody can answer."""

    exit_code = 2
