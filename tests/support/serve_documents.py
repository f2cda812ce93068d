"""Mounts documents/ of one ontology over real stores: ``python -m tests.support.serve_documents MOUNTPOINT HOME``.

Whatever no writer has open is settled every 20 ms. Says ``ready``, then answers ``errors`` with the lines of the log.
Used as ``SmallMount`` uses its server.
"""

from __future__ import annotations

import functools
import logging
import os
import sys
import threading
from pathlib import Path

import trio

from kgfs.fuse.mount import mount
from kgfs.tree.vfs import Vfs, space_of
from tests.support.depositing import Desk, desk_at
from tests.support.documents_tree import root_of
from tests.support.serve_small_tree import log_error, say


async def apply_purges(desk: Desk) -> None:
    async with trio.lowlevel.FdStream(os.dup(0)) as commands:
        rest = b""
        async for data in commands:
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                if line == b"errors" and desk.config.errors_log.exists():
                    for error in desk.config.errors_log.read_text().splitlines():
                        say(error)
                say("done")


def main() -> int:
    mountpoint, home = Path(sys.argv[1]), Path(sys.argv[2])
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr)
    stop = threading.Event()
    with desk_at(home) as desk:
        vfs = Vfs(root_of(desk), functools.partial(space_of, home))

        def settle() -> None:
            while not stop.wait(0.02):
                desk.deposits.settler.settle_now()

        async def serve() -> None:
            await mount(
                vfs,
                mountpoint,
                log_error=log_error,
                news=list,
                tasks=[lambda: apply_purges(desk)],
                ready=lambda: say("ready"),
            )

        settler = threading.Thread(target=settle)
        settler.start()
        try:
            trio.run(serve)
        finally:
            stop.set()
            settler.join()
    return 0


if __name__ == "__main__":
    sys.exit(main())
