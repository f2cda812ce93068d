"""Migrate a home to other stores: copy what it stores, derive the rest there. No model is asked.

Most is copied while the home is in use. A last pass, during which other processes wait, copies what came meanwhile.
Every step is idempotent, so the next attempt completes a migration that was killed.

The catalog may lack what its graph shows where a process that changed the graph was killed, or gave up on a slow
server, before it recorded the change. The next worker completes the record.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Protocol

from kgfs.config import Config
from kgfs.domain.documents import Name, StorageTier
from kgfs.domain.identity import commit_id_of_text
from kgfs.errors import BusyError, CorruptError, KgfsError, MissingError, StoreError, from_os_error
from kgfs.failpoints import border
from kgfs.ingest.lifecycle.rebuild import (
    NeverDepositedError,
    is_carried_out,
    numbered_facts,
    purged,
    rebuild_vectors,
    replay_in_graph,
)
from kgfs.ingest.matching.concepts import last_word
from kgfs.ingest.storing.settle import Settler
from kgfs.stores.backup.layout import opened
from kgfs.stores.batched import batched
from kgfs.stores.catalog.sqlite import Catalog
from kgfs.stores.database import copy_database, remove_database
from kgfs.stores.garage.contract import BLOCK, Garage, GarageObjects, Ledger
from kgfs.stores.garage.copying import copy_ledger, copy_news, copy_objects, prove_ledger
from kgfs.stores.garage.sums import Summer
from kgfs.stores.graph.comparing import difference
from kgfs.stores.graph.sqlite import Graph
from kgfs.stores.graph.vocabulary import TEXT_ONLY, DocumentRow
from kgfs.stores.ship import entries
from kgfs.stores.stores import Stores
from kgfs.stores.vectors.contract import Vectors

ATTEMPTS = 5
"""How often the last pass starts again when files are written during it."""
INBOX_BATCH = 200

Progress = Callable[[int, int, str], None]
"""Called with (number dealt with, number in all, what is counted)."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The size of a migration."""

    objects: int
    bytes: int
    facts: int
    """Entries of the ledger."""
    documents: int
    """Documents that the graph shows."""
    concepts: int
    unsettled: int
    """Files that wait to become versions; their bytes are not in the garage yet."""
    unsettled_bytes: int


def plan(stores: Stores) -> Plan:
    """Return how much a migration of these stores has to copy and to derive."""
    sizes = [size for _, size in stores.garage.objects.stored.keys("")]
    waiting = stores.catalog.names.unsettled()
    counts = stores.graph.counts()
    return Plan(
        objects=len(sizes),
        bytes=sum(sizes),
        facts=stores.catalog.seq(),
        documents=counts["documents"],
        concepts=counts["concepts"],
        unsettled=len(waiting),
        unsettled_bytes=sum(name.size for name in waiting),
    )


@dataclass(frozen=True, slots=True)
class Goal:
    """The target of a migration: its stores without the catalog, which is made last."""

    config: Config
    garage: Garage
    graph: Graph
    vectors: Vectors | None


class Begun(Protocol):
    """State of a migration that lasts over all its attempts."""

    erased: str
    """A hash of the purges known when the new graph was begun; '' before."""

    def keep(self) -> None:
        """Make the state durable."""
        ...


@dataclass(frozen=True, slots=True)
class _Garage:
    """Source of the new graph: the ledger of the old home as it grows, and the objects copied so far."""

    objects: GarageObjects
    ledger: Ledger

    def taken_over_by(self) -> str:
        return ""

    def confirm_owner(self) -> None:
        """Do nothing: nothing is written here."""

    def close(self) -> None:
        """Close nothing: the caller opened the stores and closes them."""


class _LeftMeanwhileError(Exception):
    """Raised when a working copy was removed after its name was read."""


class Migration:
    """Migration of ``source``, the stores of the home ``config``. One thread of one process at a time."""

    def __init__(self, config: Config, source: Stores, goal: Goal, begun: Begun, progress: Progress) -> None:
        self._config = config
        self._source = source
        self._goal = goal
        self._begun = begun
        self._progress = progress
        self._room = goal.config.run / "migrating"
        self._derived = 0
        """The number of the last fact that the new graph has."""

    def copy_most(self, objects: int) -> None:
        """Copy what the home has by now; ``objects`` is the estimated number of objects, for progress only.

        Other processes use the home as usual.
        """
        self._room.mkdir(mode=0o700, exist_ok=True)
        source, goal = self._source.garage, self._goal.garage
        # Copy the ledger first, so that the objects its entries name exist and can be copied.
        copy_ledger((entry for _, entry in source.ledger.replay()), goal.ledger)
        border("migrate-ledger")
        copy_objects(
            source.objects.stored,
            goal.objects.stored,
            self._room,
            lambda n: self._progress(n, max(n, objects), "objects copied"),
        )
        border("migrate-objects")
        # An object that is being purged may go before its purge is in the ledger or while the ledger is read; the
        # last pass knows.
        with suppress(MissingError, NeverDepositedError):
            self._derive(self._source.catalog, goal.ledger.last_seq())

    def finish(self) -> None:
        """Copy what came since, then prove that everything is there.

        Raise CorruptError or StoreError where the copy is incomplete. Raise BusyError where that cannot be told, since
        the graph was changed meanwhile or the catalog lacks what the graph shows. The caller holds the worker lock.
        Settling waits while bytes are copied.
        """
        source, goal = self._source, self._goal
        # resets the flag; asked again at the end, it tells whether the graph was changed from here on
        source.graph.changed()
        with closing(self._caught_up()) as catalog:
            copy_ledger(entries(catalog, source.garage.ledger), goal.garage.ledger)
            border("migrate-caught-up")
            remove_database(goal.config.catalog_db)
            with closing(Catalog(goal.config.catalog_db)) as front:
                front.replay(goal.garage.ledger.replay())
                self._bring_waiting(catalog, front)
                border("migrate-front")
                self._derive(catalog, catalog.seq())
                rebuild_vectors(
                    replace(source, catalog=front, garage=goal.garage, graph=goal.graph, vectors=goal.vectors)
                )
                if goal.vectors is not None:
                    goal.vectors.conclude()
                border("migrate-derived")
                self._prove(catalog, front)
        shutil.rmtree(self._room)

    # ------------------------------------------------------------------------------------------- inside

    def _caught_up(self) -> Catalog:
        """Return a copy of the catalog, as of one moment, whose bytes have all been copied.

        Raise BusyError where files are written too quickly for that.
        """
        path = self._room / "front.sqlite"
        settler = Settler(self._config, self._source)
        settler.settle_now()  # an interrupted settling has moved its file from the spool to the garage already
        with settler.alone():
            for _ in range(ATTEMPTS):
                remove_database(path)
                copy_database(self._config.catalog_db, path)
                catalog = Catalog(path)
                try:
                    copy_news(self._source.garage.objects.stored, self._goal.garage.objects.stored, self._room)
                    for name in catalog.names.unsettled():
                        if name.place is StorageTier.SPOOL:
                            self._bring_working_copy(name)
                    return catalog
                except _LeftMeanwhileError:
                    catalog.close()
                except BaseException:
                    catalog.close()
                    raise
        raise BusyError(
            f"{self._config.home}: files are being written too quickly to be copied. Repeat when it is quieter."
        )

    def _pieces(self, name: Name) -> Iterator[bytes]:
        """Yield the stored part of a spool file, which does not change while its name has these bytes.

        Raise _LeftMeanwhileError where it does not exist.
        """
        try:
            file = (self._config.spool / name.key).open("rb")
        except FileNotFoundError as error:
            raise _LeftMeanwhileError from error
        with file:
            left = name.size
            while left and (piece := file.read(min(left, BLOCK))):
                left -= len(piece)
                yield piece

    def _bring_working_copy(self, name: Name) -> None:
        summer = Summer()
        self._goal.config.spool.mkdir(mode=0o700, exist_ok=True)
        try:
            with opened(self._goal.config.spool / name.key) as written:
                for piece in self._pieces(name):
                    written.write(piece)
                    summer.update(piece)
                written.flush()
                os.fsync(written.fileno())
        except OSError as error:
            raise from_os_error(error, f"Copying the working copy {name.key}") from error
        if summer.sums().sha256 != name.sha256:
            raise CorruptError(f"The working copy of '{name.name}' is not what was kept. Run kgfs check on that home.")

    def _bring_waiting(self, catalog: Catalog, front: Catalog) -> None:
        """Copy contents that are in no garage yet, and enqueue jobs that no fact records."""
        names = [name for name in catalog.names.unsettled() if name.place is StorageTier.INBOX]
        for part in batched(sorted({name.sha256 for name in names}), INBOX_BATCH):
            front.record(inbox={sha256: self._small(catalog, sha256) for sha256 in part})
        owed = {(job.kind, job.doc_id) for job in front.jobs.all()}
        for job in catalog.jobs.all():
            if (job.kind, job.doc_id) not in owed:
                front.jobs.owe(job.kind, job.doc_id)

    def _small(self, catalog: Catalog, sha256: str) -> bytes:
        """Return a content of the inbox."""
        found = catalog.inbox(sha256)
        if found is None:
            raise StoreError(f"The inbox has lost the content {sha256}. Run kgfs check on that home.")
        return found

    def _derive(self, catalog: Catalog, upto: int) -> None:
        """Carry out in the new graph the facts up to number ``upto`` that it does not have yet."""
        graph, garage = self._goal.graph, _Garage(self._goal.garage.objects, self._source.garage.ledger)
        stores = Stores(garage, catalog, graph)
        erased = hashlib.sha256(repr(sorted(purged(stores).items())).encode()).hexdigest()
        if erased != self._begun.erased:  # the new graph must not have any trace of what is purged by now
            graph.clear()
            self._begun.erased, self._derived = erased, 0
            self._begun.keep()
        for number, fact in numbered_facts(stores):
            if number > upto:
                break
            if number > self._derived and not is_carried_out(graph, fact):
                replay_in_graph(fact, stores)
                self._progress(number, upto, "facts derived from")
        self._derived = upto

    def _prove(self, catalog: Catalog, front: Catalog) -> None:
        prove_ledger(entries(catalog, self._source.garage.ledger), self._goal.garage.ledger)
        if list(catalog.promised()) != list(front.promised()):
            raise StoreError(
                f"{self._config.catalog_db}: the names are not those that the ledger tells. Run kgfs check."
            )
        ontologies = [*catalog.names.ontologies(), *catalog.names.removed_ontologies()]
        total = self._source.graph.counts()["documents"] + self._source.graph.counts()["concepts"]
        found = difference(
            self._source.graph,
            self._goal.graph,
            [ontology.id for ontology in ontologies],
            lambda done: self._progress(done, total, "documents and concepts compared"),
        )
        if found:
            raise self._differing(found, catalog)

    def _differing(self, found: str, catalog: Catalog) -> KgfsError:
        """Return the error that explains why the graphs differ."""
        home = self._config.home
        if self._source.graph.changed():
            return BusyError(f"{home}: its graph was changed meanwhile. Migrate again, which goes on where this ended.")
        if what := unnoted(catalog, self._source.graph):
            return BusyError(
                f"{home}: what its graph shows of {what} is not noted in its ledger, or the other way round: who changed it"
                " ended before, or has not delivered it. Run kgfs worker --until-idle on the home (kgfs wait where it is"
                " mounted), and migrate again. If that does not help, run kgfs rebuild first."
            )
        return StoreError(
            f"The graphs differ: {found}. Run kgfs rebuild on the home, then migrate again; if they still differ, that"
            " is a fault of kgfs."
        )


def unnoted(catalog: Catalog, graph: Graph) -> str:
    """Return, for people, one difference between catalog and graph; '' where there is none.

    A difference is a document that only one of them shows or that has different Readings, or a merge or split of
    concepts that was not carried out. Nothing may publish meanwhile.
    """
    names = catalog.names
    for ontology in [*names.ontologies(), *names.removed_ontologies()]:
        for shown, known in zip_longest(_shown(graph, ontology.id), _known(catalog, ontology.id)):
            if shown != known:
                return f"document {min(one for one in (shown, known) if one)[0]}"
    word = last_word(catalog)
    return f"word {word.commit_id}" if word and graph.published(word.commit_id) is None else ""


def _shown(graph: Graph, ontology: str) -> Iterator[tuple[str, str]]:
    """Yield (``doc_id``, Reading) of the documents that the graph shows, by ``doc_id``."""
    after = ""
    while page := graph.documents(ontology, after):
        yield from ((row.doc_id, _shown_as(row)) for row in page)
        after = page[-1].doc_id


def _known(catalog: Catalog, ontology: str) -> Iterator[tuple[str, str]]:
    """Yield (``doc_id``, Reading) of the documents that the catalog records as shown, by ``doc_id``."""
    after = ""
    while page := catalog.names.documents(ontology, after):
        for document in page:
            if document.text or document.commit_id:
                yield document.doc_id, document.text or document.reading
        after = page[-1].doc_id


def _shown_as(row: DocumentRow) -> str:
    if row.status == TEXT_ONLY:
        return commit_id_of_text(row.doc_id, row.reading, row.deposit)
    return row.reading
