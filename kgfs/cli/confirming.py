"""Ask for confirmation before a change that cannot easily be undone."""

from __future__ import annotations

import sys

import click


def confirm(question: str) -> None:
    """Ask the question, and return if the answer is yes.

    Raise click.Abort (exit code 1) if the answer is no, and click.UsageError (exit code 2) if stdin has no answer and
    is no terminal.
    """
    try:
        click.confirm(question, abort=True, err=True)
    except click.Abort as error:
        if not isinstance(error.__context__, EOFError) or sys.stdin.isatty():
            raise
        click.echo(err=True)
        raise click.UsageError(f"'{question}' needs an answer, and stdin has none: give --yes.") from None
