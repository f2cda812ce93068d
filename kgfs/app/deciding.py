"""Plans and carries out what a person decided, in place of the worker."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from kgfs.app.home import model_in_use, open_stores, ship_rest
from kgfs.config import Config
from kgfs.domain.documents import Document
from kgfs.ingest.sharing.shipping import meeting
from kgfs.ingest.working.turns import only_changer
from kgfs.stores.stores import Stores
from kgfs.stores.vectors.opening import may_hold_vectors
from kgfs.stores.worker_turn import in_place_of_worker

if TYPE_CHECKING:  # numpy, which those who only plan with names do not need
    from kgfs.ingest.life.forget import Order
    from kgfs.ingest.life.forget import Plan as ForgettingPlan
    from kgfs.ingest.life.forgotten import Outcome
    from kgfs.ingest.life.regeneration_plan import Plan
    from kgfs.ingest.matching.concepts import Plan as ConceptPlan


def plan_regeneration(
    config: Config, stores: Stores, ontology: str, documents: Sequence[Document], strategy: str, extractor: str
) -> Plan:
    """What reading these documents again would take; ``strategy`` and ``extractor`` are those of the configuration where
    they are empty. Loads the models, to know what they have answered already, and asks them nothing."""
    from kgfs.compute.local import LocalCompute
    from kgfs.ingest.life.regeneration_plan import plan

    compute = LocalCompute(replace(config.models, extractor=extractor) if extractor else config.models)
    return plan(config, stores, compute, ontology, documents, strategy or config.pipeline.strategy)


def carry_out_forgetting(config: Config, ordered: Order, planned: ForgettingPlan) -> Outcome:
    """Carry out the forgettings that are owed, in place of the worker; what became of this one. What another, older one fails
    by is logged, and raised only where this one does."""
    from kgfs.ingest.life.forget import carry_out
    from kgfs.ingest.life.forgotten import outcome

    with _instead_of_worker(config) as stores:
        carry_out(config, stores, ordered.id)
        return outcome(stores, ordered, planned)


def decide_about_concepts(config: Config, plan: Callable[[Stores], ConceptPlan]) -> ConceptPlan:
    """Plan as things stand and carry it out, in place of the worker."""
    from kgfs.ingest.matching.concepts import catch_up, decide

    with _instead_of_worker(config) as stores:
        catch_up(stores)
        planned = plan(stores)
        decide(stores, planned)
        return planned


@contextmanager
def _instead_of_worker(config: Config) -> Iterator[Stores]:
    """The stores with their vectors, while the worker, and whoever else may change the graph, stands aside."""
    with in_place_of_worker(config.run):
        with open_stores(config, make=False) as stores:
            model = model_in_use(config, stores) or ("none" if may_hold_vectors(config) else "")
        with open_stores(config, vectors_of=model, derive=False) as stores:
            with only_changer(config, stores, meeting(config)) as alone:
                yield alone
            ship_rest(config, stores)
