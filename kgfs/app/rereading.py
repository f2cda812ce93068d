"""Read documents again: all of an ontology, or those that an older rule read or that failed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from kgfs.app.backlog import Progress, read_backlog
from kgfs.app.embedder import other_embedder, want
from kgfs.app.home import open_home
from kgfs.config import Config
from kgfs.domain.documents import INGEST_VERSION, Document
from kgfs.errors import BadInputError, UnreadableTextError
from kgfs.ingest.lifecycle.runs import Order, all_of, by_other_settings, failed, outdated, owe
from kgfs.models.extractor.table import needs_llm
from kgfs.stores.resolve import ontology_called
from kgfs.stores.stores import Stores

if TYPE_CHECKING:  # numpy, which other commands do not need
    from kgfs.compute.local import LocalCompute
    from kgfs.ingest.lifecycle.runs import Plan


CHARACTERS_IN_SECOND = 8_000
"""About as many characters of English prose are read in a second of one processor by grammar and embeddings."""


@dataclass(frozen=True, slots=True)
class Outdated:
    """Documents that are to be read again."""

    target_version: int
    paths: tuple[str, ...]
    """``ONTOLOGY/PATH`` of each."""
    read_by: Mapping[int, int]
    """Ingest version → number of the documents that it read."""
    characters: int = 0
    """Those of their Texts, of documents that the graph shows."""
    evidence: int = 0
    """The pieces of evidence that they give now. Each one is replaced, or kept where it is found again."""
    requests: int = 0
    """Requests to the language model that reading them sends."""
    embedder: str = ""
    """The embedding model, as a setting, by which all documents are embedded again; '' if none are."""

    @property
    def seconds(self) -> int:
        """Return about how many seconds of one processor reading them takes, without a language model."""
        return round(self.characters / CHARACTERS_IN_SECOND)


def regenerate(
    config: Config,
    ontology: str,
    strategy: str = "",
    extractor: str = "",
    *,
    agree: Callable[[Plan], bool],
    progress: Progress,
    wait: bool = True,
    ask_again: bool = False,
) -> int:
    """Read all documents of an ontology again, if ``agree`` returns True for the plan. Return their number; 0 if
    ``agree`` refused.

    Empty ``strategy`` and ``extractor`` mean the configured ones. Planning loads the models to find out which answers
    are stored already, but asks them nothing. Each document's previous Reading is shown until the new one is
    complete. Without ``wait``, the readings are only enqueued, durably. With ``ask_again`` a language model is asked for what
    it has answered already, too; BadInputError with an extractor that asks none.
    """
    from kgfs.compute.local import LocalCompute
    from kgfs.ingest.lifecycle.runs import plan

    with open_home(config, make=False) as stores:
        found = ontology_called(stores, ontology)
        names = stores.catalog.names
        compute = LocalCompute.of(config, extractor=extractor or config.models.extractor)
        documents = all_of(names, found)
        planned = plan(config, stores, compute, found.name, documents, strategy or config.pipeline.strategy)
        if compute.billed:
            asked = _requests(config, stores, compute, documents, planned.strategy, ask_again=ask_again)
            prices = asked["prompt_tokens"] * config.llm.price_in + asked["answer_tokens"] * config.llm.price_out
            planned = replace(planned, **dict[str, Any](asked), cost=round(prices / 1e6, 4))
        elif ask_again:
            raise BadInputError(f"{planned.extractor} asks no language model, so --ask-again does not go with it.")
        if not agree(planned) or not planned.documents:
            return 0
        reason = f"regenerated with {planned.strategy} by {planned.extractor}"
        order = Order(reason, strategy, extractor, anew=True, ask_again=ask_again)
        return _run(config, stores, lambda: all_of(names, found), order, progress if wait else None)


def _requests(
    config: Config,
    stores: Stores,
    compute: LocalCompute,
    documents: Sequence[Document],
    strategy: str,
    *,
    ask_again: bool = False,
) -> Counter[str]:
    """Return what reading these documents asks of the language model, worked out from their texts. Sends nothing."""
    from kgfs.compute.contract import LocalEngine
    from kgfs.ingest.reading.answers import AGAIN
    from kgfs.ingest.reading.clock import StageClock
    from kgfs.ingest.working.asking import Asker
    from kgfs.ingest.working.pipeline import Pipeline
    from kgfs.stores.catalog.rows import Job

    objects = stores.garage.objects
    with closing(Asker(config, objects, compute)) as asker:
        pipeline = Pipeline(config, stores, compute, StageClock(), LocalEngine(compute, objects), asker=asker)
        run = f"{AGAIN if ask_again else ''}plan"
        found: Counter[str] = Counter()
        for document in documents:
            job = Job("read", document.doc_id, document.ontology, document.deposit, run=run, strategy=strategy)
            with suppress(UnreadableTextError):
                found += asker.planned(pipeline.inquiry(document, job, lambda stage, share: None))
    return found


def reprocess(
    config: Config,
    ontology: str = "",
    target_version: int | None = None,
    *,
    only_failed: bool = False,
    agree: Callable[[Outdated], bool],
    progress: Progress,
    wait: bool = True,
) -> int:
    """Read again the documents that an ingest version before ``target_version`` read, or that were judged by other domains than
    their ontology has now, if ``agree`` returns True.
    Return their number; 0 if ``agree`` refused.

    ``target_version`` None means the newest version. With ``only_failed``, the documents are those that could not be
    read; then a ``target_version`` is BadInputError. An empty ``ontology`` means all ontologies; then the
    worker also embeds all documents again, in the background, if the home has vectors of another model than it is to have. Without
    ``wait``, the readings are only enqueued, durably.
    """
    if only_failed and target_version is not None:
        raise BadInputError("--failed and --target-version choose documents in two ways. Give one of them.")
    target = INGEST_VERSION if target_version is None else target_version
    with open_home(config, make=False) as stores:

        def choose() -> list[Document]:
            names = stores.catalog.names
            ontologies = [ontology_called(stores, ontology)] if ontology else names.ontologies()
            if only_failed:
                return failed(stores, ontologies)
            older = outdated(names, ontologies, target)
            seen = {document.doc_id for document in older}
            others = by_other_settings(stores, ontologies, config.claims.min_tokens)
            return [*older, *(d for d in others if d.doc_id not in seen)]

        chosen = choose()
        other = "" if only_failed or ontology else other_embedder(config)
        asked = 0
        if chosen and needs_llm(config.models.extractor):
            from kgfs.compute.local import LocalCompute

            compute = LocalCompute.of(config)
            asked = _requests(config, stores, compute, chosen, config.pipeline.strategy)["requests"]
        if not agree(replace(_outdated(stores, chosen, target), embedder=other, requests=asked)):
            return 0
        if other and config.models.embedder == "auto":
            want(config, other)
        if not chosen:
            return 0
        reason = (
            "the last reading failed"
            if only_failed
            else f"read by an ingest version before {target}, or by other domains"
        )
        return _run(config, stores, choose, Order(reason), progress if wait else None)


def _run(
    config: Config, stores: Stores, choose: Callable[[], Sequence[Document]], order: Order, progress: Progress | None
) -> int:
    """Read the chosen documents again; without ``progress`` only enqueue the readings, durably. Return their number."""
    owed = owe(stores.catalog, choose, order)
    if progress is not None:
        read_backlog(config, stores, progress)
    return len(owed)


def _outdated(stores: Stores, documents: Sequence[Document], target: int) -> Outdated:
    read_by = Counter(document.ingest_version for document in documents)
    characters, evidence = stores.graph.extent([document.doc_id for document in documents])
    return Outdated(target, tuple(_path(stores, document) for document in documents), read_by, characters, evidence)


def _path(stores: Stores, document: Document) -> str:
    names = stores.catalog.names
    ontology = names.ontology(document.ontology)
    live = [names.path(name.id) for name in names.names_of(document.doc_id)]
    path = next((path for path in live if path), document.source_id.partition("/")[2])
    return f"{ontology.name if ontology else document.ontology}/{path}"
