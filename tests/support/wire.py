"""A bad wire between two network interfaces: ``python wire.py LEFT RIGHT``, told on standard input what to do.

Frames go from each interface to the other, after ``delay SECONDS``, but for those that ``loss SHARE`` takes, and none while
``cut``: neither end is told of that, as with a cable that is pulled out behind a switch. ``join`` ends it. Each word is
answered by ``done``. It does what ``tc netem`` does, which not every kernel has.
"""

from __future__ import annotations

import heapq
import random
import selectors
import socket
import sys
import time

ALL = 0x0003
"""ETH_P_ALL: every frame that an interface receives."""
SOL_PACKET, PACKET_VNET_HDR, PACKET_IGNORE_OUTGOING = 263, 15, 23
LARGEST = 1 << 17
"""A frame may be a large segment that is not cut up yet. The header before it says so, and is passed on with it."""


def interface(name: str) -> socket.socket:
    found = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    found.setsockopt(SOL_PACKET, PACKET_VNET_HDR, 1)
    found.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16 << 20)
    found.bind((name, ALL))
    return found


def run(left: str, right: str) -> None:
    ends = {interface(left): right, interface(right): left}
    by_name = dict(zip((left, right), ends, strict=True))
    waiting: list[tuple[float, int, str, bytes]] = []
    delay, loss, cut, count = 0.0, 0.0, False, 0
    chance = random.Random(7)
    selector = selectors.DefaultSelector()
    for end in ends:
        selector.register(end, selectors.EVENT_READ)
    selector.register(sys.stdin, selectors.EVENT_READ)
    while True:
        timeout = max(0.0, waiting[0][0] - time.monotonic()) if waiting else None
        for key, _ in selector.select(timeout):
            if key.fileobj is sys.stdin:
                words = sys.stdin.readline().split()
                if not words:
                    return
                match words:
                    case ["delay", seconds]:
                        delay = float(seconds)
                    case ["loss", share]:
                        loss = float(share)
                    case ["cut"]:
                        cut = True
                    case ["join"]:
                        cut = False
                print("done", flush=True)
            else:
                frame = key.fileobj.recv(LARGEST)  # type: ignore[union-attr]
                if not cut and chance.random() >= loss:
                    count += 1
                    heapq.heappush(waiting, (time.monotonic() + delay, count, ends[key.fileobj], frame))  # type: ignore[index]
        while waiting and waiting[0][0] <= time.monotonic():
            _, _, name, frame = heapq.heappop(waiting)
            if not cut:
                by_name[name].send(frame)


if __name__ == "__main__":
    run(sys.argv[1], sys.argv[2])
