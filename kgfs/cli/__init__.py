"""Implement the command line, with one file per command. Each command parses its arguments, calls a use case, prints
the result and exits.

Data go to stdout and messages to stderr. A typed error becomes one line on stderr and the exit code of its kind
(``kgfs.errors`` has the table). Any other exception is a bug, and its traceback is shown.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

import click

from kgfs import __version__
from kgfs.cli.stdout import StdoutError, tell_errors_of_stdout
from kgfs.errors import KgfsError, from_os_error

# The products of matrices here are small: a second thread costs more than it saves, and many threads do them at once.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

VERBS = {
    "mount": "Mount a home as directories.",
    "umount": "Unmount; works on dead mounts too.",
    "ingest": "Deposit files into an ontology.",
    "forget": "Take documents and what they taught out again.",
    "trash": "List what was removed, put it back, empty it.",
    "wait": "Wait until nothing is owed.",
    "search": "Find the passages that answer some words.",
    "ask": "Answer a question with sentences of the documents.",
    "match": "Find the passages closest in meaning, under all filters.",
    "status": "What is kept, what is owed, who works.",
    "history": "The versions of a file.",
    "cite": "The passage that a citation points at.",
    "diff": "What changed from one version of a file to another.",
    "worker": "Read what is owed (mount starts one by itself).",
    "regenerate": "Read a whole ontology again, with another strategy or extractor.",
    "reprocess": "Read again what an older version read, or what failed.",
    "records": "What extractors answered about a document, exactly.",
    "concept": "Merge concepts that are one, split one that is two.",
    "claim": "Merge claims that say the same, split one that does not.",
    "ontology": "Show and set the domains of an ontology.",
    "rebuild": "Derive graph and index anew, without a model.",
    "check": "Look for damage, and mend it.",
    "backup": "Copy a home, also while it is in use.",
    "restore": "Make a home from a backup.",
    "migrate": "Copy a home to other stores.",
    "doctor": "What this machine lacks, and how to get it.",
    "config": "Show the configuration.",
}


class _Verbs(click.Group):
    """Import the module of a command only when the command is used. So ``kgfs mount`` imports no model and no driver
    that it does not need.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in VERBS:
            return None
        command: click.Command = importlib.import_module(f"kgfs.cli.{cmd_name.replace('-', '_')}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command of that name. For an unknown name, fail with an error that suggests the commands with
        the most similar names.
        """
        if args[0] not in VERBS and not args[0].startswith("-"):
            import difflib  # takes as long as all else of this module, and is needed for a misspelt command only

            near = " or ".join(f"'kgfs {verb}'" for verb in difflib.get_close_matches(args[0], VERBS, n=2))
            ctx.fail(f"No such command '{args[0]}'.{f' Did you mean {near}?' if near else ''}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Verbs"):
            formatter.write_dl(list(VERBS.items()))


@click.group(cls=_Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="kgfs")
def cli() -> None:
    """A semantic filesystem: documents go in, concepts with highlighted evidence come out.

    \b
    Example:
      kgfs mount ~/knowledge
      mkdir ~/knowledge/Notes && cp *.md ~/knowledge/Notes/documents/
      kgfs wait && ls ~/knowledge/Notes/concepts
    """


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line as the process's entry point. Always end with SystemExit."""
    # Files that kgfs creates are accessible to their owner only, and always to their owner: an odd umask could remove
    # even the owner's rights. Modes of files that are created through a mount come with each request, already masked
    # by the client.
    os.umask(0o077)
    tell_errors_of_stdout()
    try:
        cli.main(args=None if arguments is None else list(arguments), prog_name="kgfs")
    except KgfsError as error:
        _end_with(error)
    except StdoutError as error:
        _end_with(from_os_error(error, "Writing to stdout"))


def _end_with(error: KgfsError) -> NoReturn:
    click.echo(f"kgfs: {error}", err=True)
    sys.exit(error.exit_code)
