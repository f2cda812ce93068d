"""Define how a handler of ``pyfuse3.Operations`` ends: with an answer or with an errno. Errors become errnos here
only.

No exception but FUSEError may leave a handler, and never ENOSYS, which would switch the operation off for the whole
mount. So every handler runs inside :func:`handler`, which also signals when the handler waits.
"""

from __future__ import annotations

import errno
import logging
import time
from collections.abc import Callable, Coroutine
from typing import Any, Concatenate, ParamSpec, TypeVar

import pyfuse3
import trio
from pyfuse3 import FUSEError

from kgfs.errors import KgfsError, StoreError, TimedOutError
from kgfs.fuse import timing
from kgfs.fuse.metrics import Requests
from kgfs.fuse.serving import noticed

log = logging.getLogger(__name__)

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
