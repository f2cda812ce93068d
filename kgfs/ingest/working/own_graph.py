"""A graph that a home keeps for itself, on a ledger that it shares: what other homes did to theirs is done to it, too.

The ledger has one order, and each home's graph is what a rebuild makes of it. A note says up to which fact that holds, and
the epoch that the graph had then. Each commit raises the epoch by one, so a graph that has commits which no fact tells of is
known by it: another home's facts came before them, or they were not told before their process was killed. The latter are
made up for by ``Pipeline.recover``; where others have gone on since, the graph is derived anew, without asking a model.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from kgfs.config import Config
from kgfs.failpoints import border
from kgfs.ingest.keeping.followed import graph_note, read_note
from kgfs.ingest.keeping.ship import facts_since
from kgfs.ingest.life.rebuild import rebuild_graph, replay_in_graph
from kgfs.ingest.working.own_vectors import doubt_vectors
from kgfs.stores.journal.facts import ForgettingDone, GraphFact
from kgfs.stores.journal.following import confirmed
from kgfs.stores.notes import write_note
from kgfs.stores.stores import Stores

AT_ONCE = 1000


@dataclass(frozen=True, slots=True)
class _Told:
    """What the journal tells of since the note."""

    upto: int
    """The ledger's newest fact that is known here: those behind it are this home's, and may get other numbers."""
    left: tuple[tuple[int, GraphFact], ...]
    """What was not done to the graph yet, in order, each with its number."""
    foreign: bool
    """Whether others did something."""
    explained: bool
    """Whether the graph has nothing but what the facts of this home tell, which come before those that are left."""
    purged: bool
    """By others: this home's own purges were carried out here, to their end."""


def has_own(stores: Stores) -> bool:
    """Whether others' work has to be done to this home's graph."""
    return stores.journal.sharing


def is_behind(config: Config, stores: Stores) -> bool:
    """Whether there may be something that :func:`follow_graph` would do. Quick."""
    noted = _noted(config)
    return noted is None or noted[0] < stores.journal.changed_elsewhere()


def is_far_behind(config: Config, stores: Stores) -> bool:
    """Whether the note is so old that the journal may soon not tell what was done since. Quick."""
    noted = _noted(config)
    return noted is not None and confirmed(stores.journal) - noted[0] > AT_ONCE


def follow_graph(config: Config, stores: Stores) -> int:
    """Bring the graph to where the ledger is, as far as it is known here; the number of the ledger's last fact that it has. For
    who has the worker's place. After an error it goes on where it was; killed in between it is derived anew."""
    for commit_id in stores.graph.staged():  # by one that was killed; the others may have had the document purged since
        stores.graph.abandon(commit_id)
    told = _told(config, stores)
    if told is None or told.purged or (told.foreign and not told.explained):
        upto = confirmed(stores.journal)
        doubt_vectors(config)
        rebuild_graph(stores)
        return _note_derived(config, stores, upto)
    for seq, fact in told.left:
        replay_in_graph(fact, stores)
        if told.explained:
            write_note(graph_note(config), [seq, stores.graph.epoch()])
        border("followed-in-graph")
    if told.explained:
        _keep_note(config, stores, told.upto)
    return told.upto


def conclude_graph(config: Config, stores: Stores) -> None:
    """Note how far the graph is, where nothing is to be done to it. Quick."""
    noted = _noted(config)
    if noted is None or stores.journal.facts(noted[0], 1, confirmed=True) is None:
        return  # follow_graph asks the ledger, which takes longer
    told = _told(config, stores)
    if told is not None and told.explained and not told.foreign and not told.left:
        _keep_note(config, stores, told.upto)


@contextmanager
def deriving(config: Config, stores: Stores, *, whole: bool) -> Iterator[None]:
    """Around what derives the graph anew, the ``whole`` of it or a part: then the note holds for what it is now."""
    if not has_own(stores):
        yield
        return
    upto, before = confirmed(stores.journal), stores.graph.epoch()
    yield
    if whole:
        _note_derived(config, stores, upto)
    elif noted := _noted(config):  # what was explained before is, and what was not is not
        write_note(graph_note(config), [noted[0], noted[1] + stores.graph.epoch() - before])


def _note_derived(config: Config, stores: Stores, upto: int) -> int:
    """It was derived anew, all of it, since the ledger was known up to that fact; up to which it has it. Of what was purged
    elsewhere no trace is left."""
    stores.graph.redact([], [])
    known = confirmed(stores.journal)
    for seq, fact in _facts(stores, upto):
        if seq > known:
            break
        if _commits(fact) and stores.graph.published(fact.commit_id) is None:
            known = seq - 1  # learnt of when it was being derived
            break
    _keep_note(config, stores, known)
    return known


def _keep_note(config: Config, stores: Stores, upto: int) -> None:
    """It is as the ledger has it up to that fact, and has what the journal says of it behind that."""
    write_note(graph_note(config), [upto, stores.graph.epoch() - len(_done(stores, _facts(stores, upto)))])


def _told(config: Config, stores: Stores) -> _Told | None:
    """None where that is unknown."""
    noted = _noted(config)
    upto = confirmed(stores.journal)
    if noted is None or noted[0] > upto:
        return None
    facts = _facts(stores, noted[0])
    others = stores.journal.elsewhere(noted[0])
    if stores.journal.facts(noted[0], 1, confirmed=True) is None:  # nothing tells whose all of them were
        others = frozenset(seq for seq, _ in facts if seq <= upto)
    done = _done(stores, facts)
    left = [(seq, fact) for seq, fact in facts if seq <= upto and _commits(fact) and fact.commit_id not in done]
    first = left[0][0] if left else upto + 1
    # A commit is called by what was decided: another's of the same name may be of another time.
    explained = stores.graph.epoch() == noted[1] + len(done) and others.isdisjoint(done.values())
    if left:
        explained = explained and all(seq < first for seq in done.values())
    foreign = not others.isdisjoint(seq for seq, _ in facts)
    purges = {seq for seq, fact in facts if isinstance(fact, ForgettingDone) and fact.purge}
    return _Told(upto, tuple(left), foreign, explained, not others.isdisjoint(purges))


def _facts(stores: Stores, after: int) -> list[tuple[int, GraphFact]]:
    """What changes the graph, in order, behind a number that the ledger had."""
    journal = stores.journal
    before = -1
    while before != journal.changed_elsewhere():  # else pages would be of different orders
        before = journal.changed_elsewhere()
        told = facts_since(journal, stores.garage.ledger, after)
        found = [(seq, fact) for seq, fact in told if isinstance(fact, GraphFact)]
    return found


def _commits(fact: GraphFact) -> bool:
    return not (isinstance(fact, ForgettingDone) and fact.cascade == "none")


def _done(stores: Stores, facts: Sequence[tuple[int, GraphFact]]) -> dict[str, int]:
    """The commits by which some of them were done to the graph."""
    commits = {commit: seq for seq, fact in facts for commit in (fact.commit_id, f"{fact.commit_id}-named")}
    return {commit: seq for commit, seq in commits.items() if stores.graph.published(commit) is not None}


def _noted(config: Config) -> tuple[int, int] | None:
    """(fact, epoch); None where that is not known."""
    noted = read_note(graph_note(config))
    return (noted[0], noted[1]) if noted and len(noted) == 2 else None
