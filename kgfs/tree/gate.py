"""Hold changes back until it is known that they are allowed."""

from __future__ import annotations

import trio

from kgfs.errors import KgfsError


class Gate:
    """A gate that is closed at first, and is opened or refused. Used on the event loop only."""

    def __init__(self) -> None:
        self.wanted = trio.Event()
        """Set once a task waits at the gate."""
        self._decided = trio.Event()
        self._refusal: KgfsError | None = None

    async def passing(self) -> None:
        """Return once the gate is open. Raise the error with which the gate is refused."""
        self.wanted.set()
        await self._decided.wait()
        if self._refusal is not None:
            raise self._refusal

    def open(self) -> None:
        """Open the gate. No effect if the gate was refused before."""
        self._decided.set()

    def refuse(self, error: KgfsError) -> None:
        """Refuse every change from now on with the error, also if the gate was open."""
        self._refusal = error
        self._decided.set()

    def is_open(self) -> bool:
        return self._decided.is_set() and self._refusal is None
