"""Mounts the small tree: ``python -m tests.support.serve_small_tree MOUNTPOINT [--many N] [--noted RUN]``.

Says ``ready`` on standard output, then answers one command a line: ``put NAME TEXT``, ``take NAME``, ``entered`` (wait until
something slow has begun), ``free`` (let it go on), ``metrics``. Errors that were logged go to standard error.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections.abc import Callable
from pathlib import Path

import trio

from kgfs.errors import KgfsError
from kgfs.fuse.handling import Requests
from kgfs.fuse.mount import mount
from kgfs.stores.mount_files import mount_note
from kgfs.tree.node import Caller
from kgfs.tree.vfs import Vfs, space_of
from tests.support.scenarios.small_tree import Tree


def say(text: str) -> None:
    print(text, flush=True)


def log_error(where: str, error: BaseException) -> None:
    print(f"logged {where} {type(error).__name__}: {error}", file=sys.stderr, flush=True)


async def apply_purges(tree: Tree, requests: Requests) -> None:
    async with trio.lowlevel.FdStream(os.dup(0)) as commands:
        rest = b""
        async for data in commands:
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                word, _, argument = line.decode().partition(" ")
                if word == "put":
                    name, _, text = argument.partition(" ")
                    tree.put(name, text.encode())
                elif word == "take":
                    tree.take_away(argument)
                elif word == "free":
                    tree.slow.set()
                elif word == "entered":
                    await trio.to_thread.run_sync(tree.entered_slow.wait)
                elif word == "metrics":
                    for metric in requests.text().splitlines():
                        say(metric)
                say("done")


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("mountpoint", type=Path)
    parser.add_argument("--many", type=int, default=0)
    parser.add_argument("--noted", type=Path, help="a home's folder run/, to have it taken for a mount of that home")
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.INFO, stream=sys.stderr)
    tree, requests = Tree(arguments.many), Requests()
    tree.own_by(Caller(os.getuid(), os.getgid()))
    vfs = Vfs(tree.root, lambda: space_of("/"))

    async def serve(connected: Callable[[int], None] | None = None) -> None:
        await mount(
            vfs,
            arguments.mountpoint,
            log_error=log_error,
            news=tree.news,
            tasks=[lambda: apply_purges(tree, requests)],
            ready=lambda: say("ready"),
            requests=requests,
            connected=connected,
        )

    try:
        if arguments.noted is None:
            trio.run(serve)
        else:
            with mount_note(arguments.noted, "small", arguments.mountpoint) as note:
                trio.run(serve, note.connected)
    except KgfsError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
