"""Holds changes back until it is known that they may be made."""

from __future__ import annotations

import trio

from kgfs.errors import KgfsError


class Gate:
    """Closed at first; opened or refused once. The event loop owns it."""

    def __init__(self) -> None:
        self.wanted = trio.Event()
        """Set once somebody waits."""
        self._decided = trio.Event()
        self._refusal: KgfsError | None = None

    async def passing(self) -> None:
        """Returns when it is opened; raises what it is refused with."""
        self.wanted.set()
        await self._decided.wait()
        if self._refusal is not None:
            raise self._refusal

    def open(self) -> None:
        """Nothing where it was opened or refused before."""
        self._decided.set()

    def refuse(self, error: KgfsError) -> None:
        """Nothing where it was opened before."""
        if not self._decided.is_set():
            self._refusal = error
            self._decided.set()

    def is_open(self) -> bool:
        return self._decided.is_set() and self._refusal is None
