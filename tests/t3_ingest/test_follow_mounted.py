"""A mount follows what other homes publish, without a worker and without a model."""

from __future__ import annotations

import pytest
import trio

from kgfs.app.turns import replay
from kgfs.sharing import mounted, timing
from kgfs.sharing.follow_graph import GraphFollower
from kgfs.stores.error_log import ErrorLog
from kgfs.stores.worker_lock import WorkerLock
from tests.support.following import Home, same


async def followed(home: Home, documents: int, seconds: float) -> bool:
    """Whether the graph had so many in time."""
    config = home.host.config
    async with trio.open_nursery() as nursery:
        nursery.start_soon(
            mounted.keep_following, config, GraphFollower(config, home.stores, replay()), ErrorLog(config.errors_log)
        )
        with trio.move_on_after(seconds) as scope:
            while home.stores.graph.counts()["documents"] != documents:
                await trio.sleep(0.02)
        nursery.cancel_scope.cancel()
    return not scope.cancelled_caught


@pytest.mark.claim("SHARE-10")
async def test_a_home_without_a_worker_follows(homes: tuple[Home, Home]) -> None:
    here, there = homes
    here.deposit("00", "01", "02")
    here.work()
    there.host.exchange()
    assert await followed(there, 3, 30)
    here.forget("01.txt")
    there.host.exchange()
    assert await followed(there, 2, 30)
    assert there.compute.asked == []
    same(homes)


async def test_a_mount_leaves_it_to_a_worker_that_keeps_up(
    homes: tuple[Home, Home], monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = homes
    there.work()
    here.deposit("00")
    here.work()
    there.host.exchange()
    with WorkerLock(there.host.config.run):
        monkeypatch.setattr(timing, "WORKER_FOLLOWS", 60.0)
        assert not await followed(there, 1, 1)
        monkeypatch.setattr(timing, "WORKER_FOLLOWS", 0.5)
        assert await followed(there, 1, 30)
    same(homes)


def test_a_follower_looks_again_where_a_graph_of_before_was_put_in_place(homes: tuple[Home, Home]) -> None:
    """As by ``kgfs rebuild``, which works on a copy while others go on."""
    here, there = homes
    here.deposit("00")
    here.work()
    there.host.exchange()
    follower = GraphFollower(there.host.config, there.stores, replay())
    follower.follow()
    built = there.stores.graph.aside()
    built.note_followed(0)
    follower.follow()
    assert not follower.is_behind
    there.stores.graph.adopt(built)
    built.close()
    assert there.stores.graph.counts()["documents"] == 0 and follower.is_behind
    follower.follow()
    assert there.stores.graph.counts()["documents"] == 1
    same(homes)
