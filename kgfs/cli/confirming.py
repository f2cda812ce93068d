"""Asking before what cannot be taken back lightly."""

from __future__ import annotations

import sys

import click


def confirm(question: str) -> None:
    """Return where the answer is yes; click.Abort (exit code 1) where it is no, click.UsageError (2) where nobody is there to
    answer."""
    try:
        click.confirm(question, abort=True, err=True)
    except click.Abort as error:
        if not isinstance(error.__context__, EOFError) or sys.stdin.isatty():
            raise
        click.echo(err=True)
        raise click.UsageError(f"'{question}' needs an answer, and stdin has none: give --yes.") from None
