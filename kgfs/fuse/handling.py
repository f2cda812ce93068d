"""Define how a handler of ``pyfuse3.Operations`` ends: with an answer or with an errno. Errors become errnos here
only.

No exception but FUSEError may leave a handler, and never ENOSYS, which would switch the operation off for the whole
mount. So every handler runs inside :func:`handler`, which also signals when the handler waits.

In the main loop, one task reads a request of the kernel and answers it. ``pyfuse3.main`` hands the device over to
another task before it answers, which costs every request a second turn of the event loop. Nearly all answers here are
made without waiting, so the task that read a request keeps the device until its handler really waits. For that, the
lock of pyfuse3 is replaced in the same way as its asyncio layer replaces it.

Most clients send their next request as soon as they have an answer. So a task that has just answered polls the device
directly for a moment before it returns to the event loop, since a turn of the loop takes longer than many an answer.

Requests are counted, as Prometheus text.
"""

from __future__ import annotations

import errno
import logging
import select
import time
import types
from collections import Counter
from collections.abc import Callable, Coroutine, Generator
from types import SimpleNamespace
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

import pyfuse3
import trio
from pyfuse3 import FUSEError

from kgfs.errors import KgfsError, StoreError, TimedOutError
from kgfs.fuse import timing

log = logging.getLogger(__name__)
T = TypeVar("T")
PREFIX = "kgfs_fuse"

SPARES = 8
"""Number of idle tasks that are kept. Each has a buffer for the largest request."""


_inside = vars(pyfuse3)
"""Names of pyfuse3 that its stubs do not declare."""

_NEVER = -(2**31)
"""Number of tasks that pyfuse3 may start by itself."""
_ALL = 2**31 - 1

LogError = Callable[[str, BaseException], None]
"""``log_error(where, error)`` writes a line for people to ``.kgfs/errors.ndjson``."""


class Handling(pyfuse3.Operations):
    """Count requests and failures, log failures, and signal when a handler waits. Used on the event loop only."""

    def __init__(self, log_error: LogError, requests: Requests) -> None:
        super().__init__()
        self._log_error = log_error
        self.requests = requests
        self._written: dict[tuple[str, str, str], float] = {}
        self.waits: Callable[[], None] = lambda: None
        """Called when a handler begins to wait."""
        self.waited: Callable[[], None] = lambda: None
        """Called when a handler that waited ends."""

    def number_of(self, operation: str, error: KgfsError) -> int:
        number = error.errno if error.errno not in (0, errno.ENOSYS) else errno.EIO
        # The kernel passes the error of a release to no client, whatever the error is.
        if isinstance(error, StoreError | TimedOutError) or error.logged or operation == "release":
            self._write_down(operation, error)
        self.requests.failed(operation, number)
        return number

    def number_of_unknown(self, operation: str, error: Exception) -> int:
        if self._write_down(operation, error):
            log.error("%s: unexpected error", operation, exc_info=error)
        self.requests.failed(operation, errno.EIO)
        return errno.EIO

    def _write_down(self, operation: str, error: Exception) -> bool:
        """Log the failure, unless the same failure was logged less than timing.LOG_QUIET seconds ago. Return whether it
        was logged.

        A broken disk must not be filled with its own error messages.
        """
        now = time.monotonic()
        key = (operation, type(error).__name__, str(error))
        if now - self._written.get(key, -timing.LOG_QUIET) < timing.LOG_QUIET:
            return False
        if len(self._written) > 1000:
            self._written = {known: at for known, at in self._written.items() if now - at < timing.LOG_QUIET}
        self._written[key] = now
        self._log_error(f"fuse.{operation}", error)
        return True


H = TypeVar("H", bound=Handling)
P = ParamSpec("P")
R = TypeVar("R")

Handler = Callable[Concatenate[H, P], Coroutine[Any, Any, R]]


def handler(method: Handler[H, P, R]) -> Handler[H, P, R]:
    """Wrap the handler of a request so that it ends with an answer or a FUSEError. The handler answers without
    waiting wherever it can.
    """
    name = method.__name__

    async def handle(self: H, /, *args: P.args, **kwargs: P.kwargs) -> R:
        began = time.perf_counter()
        try:
            return await noticed(method(self, *args, **kwargs), self.waits, self.waited)
        except KgfsError as error:
            raise FUSEError(self.number_of(name, error)) from None
        except trio.Cancelled:
            # The main loop was cancelled, and its task ends at the next checkpoint. Without an answer the client
            # would wait without end, uninterruptibly.
            raise FUSEError(errno.ENOTCONN) from None
        except Exception as error:  # noqa: BLE001  # anything else that left a handler would end the mount
            raise FUSEError(self.number_of_unknown(name, error)) from None
        finally:
            self.requests.answered(name, time.perf_counter() - began)

    handle.__name__ = name
    return handle


class Waiting(Protocol):
    """An object that answers requests. It calls ``waits`` when a handler begins to wait, and ``waited`` when that
    handler ends (see :func:`noticed`).
    """

    waits: Callable[[], None]
    waited: Callable[[], None]

    def meanwhile(self) -> None:
        """Prepare what is likely to be requested next. Called after an answer, before the next request is awaited.
        Raises nothing, and takes no longer than answering that request would.
        """


async def serve(answering: Waiting, requested: Callable[[], None] = lambda: None) -> None:
    """Serve requests. Return once nothing is mounted any more or ``pyfuse3.terminate`` was called, and all requests
    are answered. ``requested`` is called when a request comes after a pause.
    """
    try:
        async with trio.open_nursery() as nursery:
            device = Device(nursery, answering.meanwhile, requested)
            answering.waits, answering.waited = device.pass_on, device.done
            _inside["trio"] = SimpleNamespace(
                Lock=lambda: device,
                lowlevel=SimpleNamespace(**{**vars(trio.lowlevel), "wait_readable": device.readable}),
                ClosedResourceError=trio.ClosedResourceError,
            )
            nursery.start_soon(device.work)
    finally:
        _inside["trio"] = trio


class Device:
    """Stand in for the lock of pyfuse3: the task that holds it reads the next request. Used on the event loop only."""

    def __init__(
        self,
        nursery: trio.Nursery,
        meanwhile: Callable[[], None] = lambda: None,
        requested: Callable[[], None] = lambda: None,
    ) -> None:
        self._nursery = nursery
        self._meanwhile = meanwhile
        self._requested = requested
        self._held = False
        self._surplus = False
        """Whether the running task is ended because there are enough tasks."""
        self._over = False
        """Whether a task ended for any other reason: no more requests can be read."""
        self._spare = trio.lowlevel.ParkingLot()
        self._waiting = 0
        """Number of handlers that wait for something. Only the event loop can wake them."""
        self._streak_ends = 0.0
        self._poll: select.poll | None = None

    async def work(self) -> None:
        """Run one task that reads and answers requests."""
        try:
            await _inside["_session_loop"](self._nursery, _ALL, _NEVER)
        finally:
            surplus, self._surplus = self._surplus, False
            if not surplus:
                self._over = True
                self._spare.unpark_all()

    async def __aenter__(self) -> None:
        if self._over or not self._held:
            self._held = True
        elif len(self._spare) >= SPARES:
            self._surplus = True
            raise trio.ClosedResourceError  # tells pyfuse3 to end this task
        else:
            await self._spare.park()

    async def __aexit__(self, *failure: object) -> None:
        self._held = False

    async def readable(self, descriptor: int) -> None:
        """Return when the device has a request."""
        self._meanwhile()
        if not self._waiting and time.monotonic() < self._streak_ends:
            if self._poll is None:
                self._poll = select.poll()
                self._poll.register(descriptor, select.POLLIN)
            if self._poll.poll(timing.REQUEST_POLL_MS):
                return
        await trio.lowlevel.wait_readable(descriptor)
        self._streak_ends = time.monotonic() + timing.REQUEST_STREAK
        self._requested()

    def pass_on(self) -> None:
        """Let another task read, because the task that read last begins to wait."""
        self._waiting += 1
        if self._held:
            return
        if self._spare:
            self._held = True
            self._spare.unpark()
        else:
            self._nursery.start_soon(self.work)

    def done(self) -> None:
        """Note that a handler that waited has ended."""
        self._waiting -= 1


@types.coroutine
def noticed(
    work: Coroutine[Any, Any, T], waits: Callable[[], None], waited: Callable[[], None]
) -> Generator[Any, Any, T]:
    """Await ``work``. Call ``waits`` when ``work`` waits for the first time, and in that case ``waited`` at its end."""
    begun = False
    try:
        trap = work.send(None)
        begun = True
        waits()
        while True:
            trap = work.send((yield trap))
    except StopIteration as done:
        result: T = done.value
        return result
    finally:
        work.close()
        if begun:
            waited()


class Requests:
    """Count requests, their total duration and their failures by operation. Updated on the event loop only; other
    threads may read, and see numbers that differ by at most one request.
    """

    def __init__(self) -> None:
        self._count: Counter[str] = Counter()
        self._seconds: Counter[str] = Counter()
        self._failed: Counter[tuple[str, int]] = Counter()
        self._invalidated: Counter[str] = Counter()

    def answered(self, operation: str, seconds: float) -> None:
        self._count[operation] += 1
        self._seconds[operation] += seconds  # type: ignore[assignment]  # Counter's values may be any number

    def failed(self, operation: str, number: int) -> None:
        self._failed[operation, number] += 1

    def invalidated(self, what: str) -> None:
        self._invalidated[what] += 1

    def count(self, operation: str) -> int:
        return self._count[operation]

    def total(self) -> int:
        return sum(self._count.values())

    def text(self) -> str:
        lines = [
            f"# HELP {PREFIX}_requests_total Requests of the kernel by operation.",
            f"# TYPE {PREFIX}_requests_total counter",
            *(f'{PREFIX}_requests_total{{operation="{name}"}} {n}' for name, n in sorted(self._count.items())),
            f"# HELP {PREFIX}_seconds_total Time from request to answer, waiting included.",
            f"# TYPE {PREFIX}_seconds_total counter",
            *(f'{PREFIX}_seconds_total{{operation="{name}"}} {n:.6f}' for name, n in sorted(self._seconds.items())),
            f"# HELP {PREFIX}_failures_total Requests answered with an error.",
            f"# TYPE {PREFIX}_failures_total counter",
            *(
                f'{PREFIX}_failures_total{{operation="{name}",errno="{errno.errorcode.get(number, number)}"}} {n}'
                for (name, number), n in sorted(self._failed.items())
            ),
            f"# HELP {PREFIX}_invalidations_total What the kernel was told to forget.",
            f"# TYPE {PREFIX}_invalidations_total counter",
            *(f'{PREFIX}_invalidations_total{{what="{what}"}} {n}' for what, n in sorted(self._invalidated.items())),
        ]
        return "\n".join(lines) + "\n"
