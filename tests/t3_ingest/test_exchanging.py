"""A mount goes on exchanging with other homes whatever fails, and tells what does."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import trio

from kgfs.errors import CorruptError, TimedOutError, UnavailableError
from kgfs.sharing import mounted, timing
from kgfs.sharing.adaptive_poll import Rhythm
from kgfs.stores.catalog.sqlite import Catalog
from kgfs.stores.error_log import ErrorLog


@pytest.mark.claim("AWAY-2")
def test_what_fails_while_homes_exchange_is_told_once_for_each_kind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timing, "EXCHANGE_RETRY", 0.0)
    monkeypatch.setattr("kgfs.sharing.timing.POLL_EVERY", 0.0)
    monkeypatch.setattr("kgfs.sharing.timing.POLL_LIVELY", 0.0)
    log = ErrorLog(tmp_path / "errors.ndjson")
    away = UnavailableError("1"), TimedOutError("2"), UnavailableError("3")
    raised = iter([*away, CorruptError("4"), CorruptError("5"), None, CorruptError("7")])

    def deliver() -> None:
        if error := next(raised, None):
            raise error

    async def exchange() -> None:
        with trio.fail_after(30):
            async with trio.open_nursery() as nursery:
                rhythm = Rhythm(Catalog(None), lambda: 0)
                nursery.start_soon(mounted.keep_exchanging, rhythm, deliver, deliver, log)
                while len(log.read().splitlines()) < 3:
                    await trio.sleep(0.01)
                nursery.cancel_scope.cancel()

    trio.run(exchange)
    reported = [json.loads(line) for line in log.read().splitlines()]
    assert [line["message"] for line in reported] == ["1", "4", "7"]
    assert {line["where"] for line in reported} == {"exchange"}
