"""Give a worker, or a command, the turns that it needs to read documents and to change the graph.

Where no other home shares the ledger, the home's worker lock is enough, and nothing of sharing is loaded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from kgfs.config import Config
from kgfs.errors import KgfsError
from kgfs.stores.stores import Stores

if TYPE_CHECKING:  # models, which a command that changes the graph may not need
    from kgfs.ingest.working.pipeline import Pipeline
    from kgfs.ingest.working.turns import Turns
    from kgfs.sharing.replay import Replay

Meet = Callable[[Stores], object]
"""Delivers what this home has recorded, and fetches what the others have (:func:`.meeting`)."""


@contextmanager
def taking_turns(pipeline: Pipeline, exchange: Meet) -> Iterator[Turns]:
    """Yield the turns that a worker needs for this graph and ledger."""
    config, stores = pipeline.config, pipeline.stores
    if not stores.catalog.sharing:
        from kgfs.ingest.working.turns import Alone

        yield Alone(pipeline)
        return
    from kgfs.sharing.turns import Together, holding_of

    with closing(holding_of(config, stores)) as holding:
        together = Together(config, stores, lambda those: replace(pipeline, stores=those), holding, exchange, replay())
        try:
            yield together
        finally:
            with suppress(KgfsError):  # the next publisher makes up for facts that were not delivered
                together.pass_on()


@contextmanager
def only_changer(config: Config, stores: Stores, exchange: Meet) -> Iterator[Stores]:
    """Yield the stores to change the graph with, while no other machine changes it.

    For a command that holds its home's worker lock. Raises what ``sharing.turns.only_changer`` raises.
    """
    if not stores.catalog.sharing:
        yield stores
        return
    from kgfs.sharing.turns import only_changer as only_changer_of_all

    with only_changer_of_all(config, stores, exchange, replay()) as alone:
        yield alone


@contextmanager
def only_deriver(config: Config, stores: Stores, exchange: Meet, *, whole: bool) -> Iterator[Stores]:
    """Yield the stores for a command that derives the graph anew, ``whole`` or in part.

    Each home derives its own graph, so no turn is waited for. Where homes share the ledger, the graph is brought up to
    it first, unless the ``whole`` graph is derived.
    """
    if stores.catalog.sharing:
        exchange(stores)
        if not whole:
            from kgfs.sharing.follow_graph import follow_graph

            follow_graph(config, stores, replay())
    yield stores


def replay() -> Replay:
    """Return how facts of other homes are carried out: as a rebuild does. Loads numpy and more."""
    from kgfs.ingest.lifecycle import purge, rebuild
    from kgfs.sharing.replay import Replay

    return Replay(
        in_graph=rebuild.replay_in_graph,
        graph_anew=rebuild.rebuild_graph,
        in_vectors=rebuild.ReplayedVectors,
        vectors_anew=rebuild.rebuild_vectors,
        concepts_decided=lambda stores, doc_id: purge.decided_about(stores, doc_id)[0],
    )
