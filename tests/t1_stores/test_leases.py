"""Leases, of every implementation: one holder at a time, tokens that only grow, no clock but the giver's."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kgfs.errors import AwayError, LostLeaseError, TimedOutError
from kgfs.stores.garage.memory import MemoryGarage
from kgfs.stores.garage.s3.bucket import Bucket
from kgfs.stores.garage.s3.cache import Cache
from kgfs.stores.garage.s3.objects import S3Objects
from kgfs.stores.leases.bucket import LEASES, BucketLeases
from kgfs.stores.leases.contract import Lease, Leases, SharedGraph
from kgfs.stores.leases.holding import Holding
from kgfs.stores.leases.memory import MemoryLeases
from tests.support.graph_building import Doc, Told, prepared, publish
from tests.support.graph_stores import own
from tests.support.running import until

if TYPE_CHECKING:
    from kgfs.stores.graph.neo4j.place import Place

LONG, SHORT, TERM = 600.0, 0.3, 6.0
"""Seconds: a holder has its say within TERM also where much else is done."""
NO_BUCKET = pytest.mark.parametrize("leases", ["memory", "neo4j", "objects in memory"], indirect=True)
"""What is renewed in time is in memory what it is in a bucket, where each sign of life takes several requests."""
FENCE = "MATCH (l:Lease {graph: $graph, what: 'a'}) SET l.locked = true REMOVE l.locked RETURN l"
ZEN, BUDDHA = Doc("a" * 16, [Told("Zen", 2)]), Doc("b" * 16, [Told("Buddha")])


@pytest.fixture(params=["memory", "neo4j", "objects in memory", "objects on seaweedfs"])
def leases(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Leases]:
    if request.param == "memory":
        yield MemoryLeases()
        return
    if request.param == "objects in memory":
        yield BucketLeases(MemoryGarage().objects)
        return
    if request.param == "objects on seaweedfs":
        place = replace(request.getfixturevalue("seaweedfs").place, prefix=f"leases-{secrets.token_hex(6)}")
        yield BucketLeases(S3Objects(Bucket(place), Cache(tmp_path / "cache", 8 << 20)))
        return
    from kgfs.stores.graph.neo4j.graph import Neo4jGraph

    place = own(request.getfixturevalue("neo4j_place"))
    with closing(Neo4jGraph(place)) as graph, closing(graph.leases(30.0)) as leases:
        yield leases


def taken(leases: Leases, what: str = "a", seconds: float = LONG) -> Lease:
    lease = leases.take(what, "somebody", seconds)
    assert lease is not None
    return lease


def test_one_holds_it_at_a_time(leases: Leases) -> None:
    first = taken(leases)
    assert leases.take("a", "another", LONG) is None
    assert leases.take("a", "somebody", LONG) is None
    assert taken(leases, "b").what == "b"
    leases.release(first)
    assert taken(leases).token > first.token


def test_one_that_ran_out_is_the_next_ones(leases: Leases) -> None:
    first = taken(leases, seconds=SHORT)
    until(lambda: (found := leases.take("a", "another", LONG)) and found.token > first.token)
    with pytest.raises(LostLeaseError):
        leases.renew(first, LONG)
    leases.release(first)
    assert leases.take("a", "third", LONG) is None, "who lost it cannot give it away"


def test_one_that_ran_out_is_over_also_where_nobody_took_it(leases: Leases) -> None:
    lease = taken(leases, seconds=SHORT)
    time.sleep(2 * SHORT)
    with pytest.raises(LostLeaseError):
        leases.renew(lease, LONG)


@NO_BUCKET
def test_renewed_it_lasts(leases: Leases) -> None:
    lease = taken(leases, seconds=TERM)
    leases.renew(lease, LONG)
    time.sleep(1.1 * TERM)
    assert leases.take("a", "another", LONG) is None
    leases.renew(lease, LONG)
    leases.release(lease)
    with pytest.raises(LostLeaseError):
        leases.renew(lease, LONG)


def test_who_holds_it_learns_that_another_wants_it_urgently(leases: Leases) -> None:
    first = taken(leases)
    assert not leases.renew(first, LONG)
    assert leases.take("a", "another", LONG) is None
    assert not leases.renew(first, LONG)
    assert leases.take("a", "another", LONG, urgent=True) is None
    assert leases.take("a", "third", LONG) is None
    assert leases.renew(first, LONG)
    leases.release(first)
    assert not leases.renew(taken(leases), LONG)


def test_what_could_not_be_released_is_released_later(
    guest: Place, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A password that was wrong meanwhile: before it is taken again, and in the end at the latest. Else nobody has it until it runs
    out."""
    from kgfs.stores.graph.neo4j.graph import Neo4jGraph

    secret = tmp_path / "password"
    secret.write_text(guest.password)
    place = replace(own(guest), password_file=secret)
    with closing(Neo4jGraph(place)) as graph, closing(graph.leases(30.0)) as leases:
        with closing(Holding(graph.leases(30.0), LONG)) as holding:
            first, other = holding.take("a"), holding.take("b")
            assert first is not None and other is not None
            with caplog.at_level("INFO", "kgfs.leases"):
                secret.write_text("not the word")
                for lease in (first, other):
                    holding.release(lease)
                secret.write_text(guest.password)
            assert caplog.text.count("not released") == 2
            assert leases.take("a", "another", LONG) is leases.take("b", "another", LONG) is None
            again = holding.take("a")
            assert again is not None and again.token > first.token and holding.holds(again)
        assert taken(leases, "b").token > other.token


def test_one_that_could_not_be_released_and_is_anothers_now_is_said_to_be_held(guest: Place, tmp_path: Path) -> None:
    """Also while the other writes under it, for longer than anybody waits for a lease."""
    from neo4j import GraphDatabase

    from kgfs.stores.graph.neo4j.graph import Neo4jGraph

    secret = tmp_path / "password"
    secret.write_text(guest.password)
    place = replace(own(guest), password_file=secret)
    with closing(Neo4jGraph(place)) as graph, ExitStack() as stack:
        leases = stack.enter_context(closing(graph.leases(30.0)))
        holding = stack.enter_context(closing(Holding(graph.leases(5.0), LONG)))
        first = holding.take("a")
        assert first is not None
        secret.write_text("not the word")
        holding.release(first)
        secret.write_text(guest.password)
        leases.release(first)  # as if it had run out
        other = taken(leases)
        driver = stack.enter_context(GraphDatabase.driver(place.uri, auth=(place.user, guest.password)))
        with driver.session() as session, session.begin_transaction() as writing:
            assert writing.run(FENCE, graph=place.namespace).single()
            assert holding.take("a") is None
            writing.rollback()
        assert not leases.renew(other, LONG)


def test_what_could_not_be_released_is_forgotten_when_it_ran_out(guest: Place, tmp_path: Path) -> None:
    """To try it for ever would keep those that are held from being renewed, each time."""
    from kgfs.stores.graph.neo4j.graph import Neo4jGraph

    secret = tmp_path / "password"
    secret.write_text(guest.password)
    place = replace(own(guest), password_file=secret)
    with closing(Neo4jGraph(place)) as graph, closing(Holding(graph.leases(5.0), TERM)) as holding:
        lease = holding.take("a")
        assert lease is not None
        secret.write_text("not the word")
        holding.release(lease)
        assert list(holding._left) == [lease]
        until(lambda: not holding._left)


@NO_BUCKET
def test_held_it_is_renewed_until_it_is_lost(leases: Leases) -> None:
    with closing(Holding(leases, TERM)) as holding:
        lease = holding.take("a")
        assert lease is not None
        time.sleep(1.2 * TERM)
        assert holding.holds(lease)
        assert leases.take("a", "another", LONG, urgent=True) is None
        until(lambda: holding.wanted(lease))
        leases.release(lease)
        until(lambda: not holding.holds(lease))
        left = holding.take("b")
        assert left is not None


def test_an_error_of_any_kind_ends_no_renewing() -> None:
    class Once(MemoryLeases):
        renewals = 0

        def renew(self, lease: Lease, seconds: float) -> bool:
            self.renewals += 1
            if self.renewals == 1:
                raise RuntimeError("can't start new thread")
            return super().renew(lease, LONG)

    leases = Once()
    with closing(Holding(leases, SHORT)) as holding:
        with holding._lock:
            holding._held[lease := taken(leases)] = False
        until(lambda: leases.renewals > 2)
        assert holding.holds(lease)


def test_what_else_stands_in_the_folder_of_a_lease_is_passed_over() -> None:
    """As a program that shows buckets makes one when a folder is looked at."""
    objects = MemoryGarage().objects
    leases = BucketLeases(objects)
    lease = taken(leases)
    ((key, _),) = objects.keys(LEASES)
    objects.put(f"{key.rpartition('/')[0]}/.DS_Store", b"")
    leases.renew(lease, LONG)
    assert leases.take("a", "another", LONG) is None
    leases.release(lease)
    assert taken(leases).token > lease.token


def test_of_many_at_once_one_gets_it(leases: Leases) -> None:
    tokens: list[int] = []
    for _ in range(5):
        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(lambda n: leases.take("a", f"holder {n}", LONG), range(8)))
        [lease] = [lease for lease in found if lease is not None]
        tokens.append(lease.token)
        leases.release(lease)
    assert tokens == sorted(set(tokens))


@pytest.mark.claim("MACH-4")
@pytest.mark.parametrize("leases", ["neo4j", "objects in memory"], indirect=True)
def test_a_holders_clock_is_not_looked_at(leases: Leases, monkeypatch: pytest.MonkeyPatch) -> None:
    """An hour later here is no later there, nor is an hour before."""
    lease = taken(leases)
    now = time.time()
    for at in (now + 3600, now - 3600):
        monkeypatch.setattr(time, "time", partial(float, at))
        monkeypatch.setattr(time, "time_ns", partial(int, at * 1e9))
        assert abs(time.time() - now) > 3599
        assert leases.take("a", "another", LONG) is None
        leases.renew(lease, LONG)


AHEAD = 3_600_000
_AS_IF_AHEAD = (
    "MATCH (l:Lease {graph: $graph, what: 'a'}) SET l.until = l.until + $ahead RETURN l.until - timestamp() AS lasts"
)


@pytest.mark.claim("MACH-3")
def test_a_killed_holder_keeps_nobody_waiting_though_the_servers_clock_was_set_back_since(neo4j_place: Place) -> None:
    """By an hour: no lease is taken for so long."""
    from kgfs.stores.graph.neo4j.graph import Neo4jGraph
    from kgfs.stores.leases.neo4j import Neo4jLeases

    place = own(neo4j_place)
    with closing(Neo4jGraph(place)), closing(Neo4jLeases(place, 30.0)) as leases:
        killed = taken(leases)
        assert leases.take("a", "another", LONG) is None
        leases._speaking.write_one(_AS_IF_AHEAD, 30.0, graph=place.namespace, ahead=AHEAD)
        assert taken(leases).token > killed.token
        with pytest.raises(LostLeaseError):
            leases.renew(killed, LONG)


def test_who_goes_on_keeps_its_lease_though_the_servers_clock_was_set_back_since(neo4j_place: Place) -> None:
    """Once it is renewed it stands no further ahead than it lasts."""
    from kgfs.stores.graph.neo4j.graph import Neo4jGraph
    from kgfs.stores.leases.neo4j import Neo4jLeases

    place = own(neo4j_place)
    with closing(Neo4jGraph(place)), closing(Neo4jLeases(place, 30.0)) as leases:
        lease = taken(leases)
        leases._speaking.write_one(_AS_IF_AHEAD, 30.0, graph=place.namespace, ahead=AHEAD)
        leases.renew(lease, LONG)
        assert leases.take("a", "another", LONG) is None
        found = leases._speaking.write_one(_AS_IF_AHEAD, 30.0, graph=place.namespace, ahead=0)
        assert found is not None and LONG * 900 < found["lasts"] <= LONG * 1000


def test_a_lease_that_was_renewed_while_another_waited_for_it_is_not_taken_for_one_of_a_clock_that_was_ahead(
    neo4j_place: Place,
) -> None:
    """Who waits has asked before it was renewed: it stands further ahead of that moment than it lasts."""
    from kgfs.stores.graph.neo4j.graph import Neo4jGraph
    from kgfs.stores.leases.neo4j import Neo4jLeases

    place = own(neo4j_place)
    with closing(Neo4jGraph(place)), closing(Neo4jLeases(place, 5.0)) as leases:
        lease = taken(leases)
        leases._speaking.write_one(_AS_IF_AHEAD, 5.0, graph=place.namespace, ahead=5_000)
        assert leases.take("a", "another", LONG) is None
        assert not leases.renew(lease, LONG)


@pytest.mark.claim("MACH-2")
def test_whatever_writes_is_fenced(neo4j_place: Place) -> None:
    """The lease is looked at in the transaction that writes: who lost it has done nothing, and readers see nothing of it."""
    from kgfs.stores.graph.neo4j.graph import Neo4jGraph

    with closing(Neo4jGraph(own(neo4j_place))) as graph, closing(graph.leases(30.0)) as leases:
        assert isinstance(graph, SharedGraph)
        lease = taken(leases)
        ours = graph.fenced(lease)
        assert publish(ours, ZEN, "first") == 1
        batch, publication = prepared(ours, BUDDHA, "second")
        ours.stage("second", BUDDHA.doc_id, batch)
        leases.release(lease)
        theirs = graph.fenced(taken(leases))
        before = graph.counts()
        for write in (
            lambda: ours.publish(publication),
            lambda: ours.stage("third", BUDDHA.doc_id, batch),
            lambda: ours.forget("forget", [ZEN.doc_id], 2000),
            lambda: ours.reassign("word", [], 2000),
            lambda: ours.abandon("second"),
            lambda: ours.clear(),
            lambda: ours.redact([], []),
            lambda: ours.aside(),
        ):
            with pytest.raises(LostLeaseError):
                write()
        assert (graph.epoch(), graph.staged(), graph.counts()) == (1, ["second"], before)
        ours.close()
        assert theirs.publish(publication) == 2


def test_one_whose_holder_is_writing_under_it_is_held_and_no_server_is_away(neo4j_place: Place) -> None:
    """The fence looks at the lease in the transaction that writes, which may take longer than anybody waits for a lease."""
    from neo4j import GraphDatabase

    from kgfs.stores.graph.neo4j.graph import Neo4jGraph

    place = own(neo4j_place)
    with closing(Neo4jGraph(place)) as graph, ExitStack() as stack:
        leases, hasty = (stack.enter_context(closing(graph.leases(patience))) for patience in (30.0, 5.0))
        holding = stack.enter_context(closing(Holding(hasty, LONG)))
        first = taken(leases)
        driver = stack.enter_context(GraphDatabase.driver(place.uri, auth=(place.user, place.password)))
        with driver.session() as session, session.begin_transaction() as writing:
            assert writing.run(FENCE, graph=place.namespace).single()
            assert hasty.take("a", "another", LONG) is None
            assert holding.take("a", urgent=True) is None
            writing.rollback()
        assert not leases.renew(first, LONG)
        leases.release(first)
        assert taken(leases).token > first.token


def test_a_server_that_was_put_back_gives_no_number_twice(neo4j_place: Place) -> None:
    from kgfs.stores.graph.neo4j.graph import Neo4jGraph
    from kgfs.stores.leases.neo4j import Neo4jLeases

    place = own(neo4j_place)
    with closing(Neo4jGraph(place)), closing(Neo4jLeases(place, 30.0)) as leases:
        leases.release(taken(leases))
        kept = leases._speaking.one("MATCH (l:Lease {graph: $graph}) RETURN l.token AS token", graph=place.namespace)
        assert kept
        first = taken(leases)
        leases._speaking.write_one(
            "MATCH (l:Lease {graph: $graph}) SET l.token = $token, l.until = 0, l.holder = '' RETURN 1",
            30.0,
            graph=place.namespace,
            token=kept["token"],
        )
        assert taken(leases).token > first.token
        with pytest.raises(LostLeaseError):
            leases.renew(first, LONG)


def test_a_server_that_is_away_is_said_soon() -> None:
    from kgfs.stores.graph.neo4j.place import Place
    from kgfs.stores.leases.neo4j import Neo4jLeases

    away = Place("bolt://127.0.0.1:1", password=secrets.token_hex(4))
    before = time.monotonic()
    with closing(Neo4jLeases(away, 1.0)) as leases, pytest.raises((AwayError, TimedOutError)):
        leases.take("a", "somebody", LONG)
    assert time.monotonic() - before < 20


def test_in_a_bucket_one_that_was_late_takes_nothing_and_nothing_is_left() -> None:
    """It looked before others had the lease and let it go; what it then puts was another's once."""
    objects = MemoryGarage().objects
    leases, others = BucketLeases(objects), BucketLeases(objects)
    others.release(taken(others))
    looked = leases._sign("a")
    others.release(taken(others))
    held = taken(others)
    with pytest.MonkeyPatch.context() as late:
        signs = iter([looked])
        late.setattr(leases, "_sign", lambda what: next(signs, None) or others._sign(what))
        assert leases.take("a", "late", LONG) is None
    assert not others.renew(held, LONG)
    assert len(list(objects.keys(LEASES))) == 2, "who holds it, and that it was renewed"


def test_in_a_bucket_who_comes_later_waits_a_whole_term_whatever_the_clocks_say() -> None:
    """Nobody knows when the last sign of life was given; only for how long none was seen."""
    now = [1000.0]
    objects = MemoryGarage().objects
    holder, other = BucketLeases(objects, lambda: now[0] - 5000), BucketLeases(objects, lambda: now[0])
    lease = taken(holder, seconds=10)
    for _ in range(3):
        now[0] += 9
        assert other.take("a", "another", LONG) is None
        holder.renew(lease, 10)
    assert other.take("a", "another", LONG) is None
    now[0] += 9.9
    assert other.take("a", "another", LONG) is None
    now[0] += 0.2
    assert taken(other).token == lease.token + 1
    with pytest.raises(LostLeaseError):
        holder.renew(lease, 10)
