"""Random histories of a home, and all that can be seen of it afterwards.

An operation is a function ``(place, chance)`` under ``@operation``: it does one thing that a user or the worker can do,
chosen by ``chance``. What is refused as things stand is no matter. New kinds of change belong here as soon as there
are any, since whatever changes the graph must be carried out again by a rebuild.
"""

from __future__ import annotations

import os
import random
import stat
from collections.abc import Callable
from dataclasses import dataclass
from email.message import EmailMessage
from functools import cache

from hypothesis import strategies as st

from kgfs.compute.contract import Compute, LocalEngine
from kgfs.compute.local import LocalCompute
from kgfs.config import Config
from kgfs.domain.documents import Name, NameKind, Ontology
from kgfs.domain.identity import normalise_label
from kgfs.errors import KgfsError
from kgfs.ingest.lifecycle import forget, forget_plan
from kgfs.ingest.lifecycle.runs import Order, all_of, owe, owe_again
from kgfs.ingest.matching import claim_marks
from kgfs.ingest.matching.concept_plans import plan_merge, plan_split, speaking_of
from kgfs.ingest.matching.concepts import decide
from kgfs.ingest.reading.clock import StageClock
from kgfs.ingest.working.pipeline import Pipeline
from kgfs.ingest.working.worker import Worker
from kgfs.ingest.writing import trash
from kgfs.ingest.writing.deposit import Deposits
from kgfs.settings import STRATEGIES, Models
from kgfs.stores.error_log import ErrorLog
from kgfs.stores.graph.kinds import KINDS
from kgfs.stores.readings import decode_decisions, decode_reading
from kgfs.stores.resolve import find_document
from kgfs.stores.ship import ship_once
from kgfs.stores.stores import Stores
from kgfs.stores.vectors.contract import Filter
from kgfs.tree.node import File, Folder, Link
from kgfs.tree.ontology import Root
from kgfs.tree.tree_context import TreeContext
from kgfs.tree.views import TREE
from tests.support.library import read

ONTOLOGIES = ("Zen", "Memory")
FILES = ("a.txt", "b.md", "c.txt", "ü.txt")
MAILS = ("m.eml", "n.eml")
SENTENCES = (
    "Zen is a school of Buddhism. ",
    "A koan is a riddle used in Zen practice. ",
    "Zen practice uses koans to exhaust the mind. ",
    "Reference counting is a form of garbage collection. ",
    "Garbage collection reclaims unreachable memory cells. ",
    "The garbage collector uses a tracing algorithm.\r\n\r\n",
    "# Zen practice\n\n",
    "Direct experience comes before words, says the School of Zen. ",
    "Memory cells hold direct experience — 𝒳.\n\n",
)


@dataclass
class Place:
    """An open home with somebody who deposits, and models for its worker."""

    config: Config
    stores: Stores
    deposits: Deposits
    compute: Compute

    def ontology(self, name: str) -> Ontology:
        names = self.stores.catalog.names
        return names.ontology_named(name) or self.deposits.make_ontology(name, 0o755, os.getuid(), os.getgid())

    def entries(self, kind: NameKind) -> list[Name]:
        """All of a kind, in an order that depends on nothing random."""
        names, found = self.stores.catalog.names, []
        for ontology in names.ontologies():
            folders = [ontology.root]
            while folders:
                for name in names.children(folders.pop()):
                    if name.kind is kind:
                        found.append(name)
                    if name.kind is NameKind.FOLDER:
                        folders.append(name.id)
        return found

    def folder(self, chance: random.Random) -> int:
        ontology = self.ontology(chance.choice(ONTOLOGIES))
        below = [name.id for name in self.entries(NameKind.FOLDER) if name.ontology == ontology.id]
        return chance.choice([ontology.root, *below])

    def settle(self) -> None:
        self.deposits.settler.settle_now()

    def work(self) -> None:
        """Until nothing is owed."""
        pipeline = Pipeline(
            self.config, self.stores, self.compute, StageClock(), LocalEngine(self.compute, self.stores.garage.objects)
        )
        Worker(pipeline, ErrorLog(self.config.errors_log), self._chores).run(until_idle=True)

    def _chores(self) -> None:
        self.settle()
        jobs = self.stores.catalog.jobs
        for job in jobs.all():
            if job.not_before and job.state == "queued":
                jobs.owe(job.kind, job.doc_id)  # without waiting whether its bytes come back


Operation = Callable[[Place, random.Random], None]
OPERATIONS: dict[str, Operation] = {}


def operation(function: Operation) -> Operation:
    OPERATIONS[function.__name__] = function
    return function


def act(place: Place, what: str, seed: int) -> None:
    try:
        OPERATIONS[what](place, random.Random(seed))
    except KgfsError:
        pass  # not allowed as things stand


@operation
def write(place: Place, chance: random.Random) -> None:
    """A new file, or other bytes in one that is there."""
    parent, name = place.folder(chance), chance.choice(FILES)
    standing = place.stores.catalog.names.child(parent, name)
    uid, gid = os.getuid(), os.getgid()
    made = standing or place.deposits.make_file(parent, name, 0o644, uid, gid)
    file = place.deposits.open(made.id, write=True, truncate=True)
    try:
        file.write(0, "".join(chance.choices(SENTENCES, k=chance.randint(1, 4))).encode())
        file.flush()
    finally:
        file.release()


@operation
def write_mail(place: Place, chance: random.Random) -> None:
    """A mail with attachments that other mails, and files, may have too."""
    parent, name = place.folder(chance), chance.choice(MAILS)
    standing = place.stores.catalog.names.child(parent, name)
    made = standing or place.deposits.make_file(parent, name, 0o644, os.getuid(), os.getgid())
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = "a@example.com", "b@example.com", chance.choice("xy")
    message.set_content(chance.choice(SENTENCES))
    for sentence in chance.sample(SENTENCES[:3], k=chance.randint(0, 2)):
        message.add_attachment(sentence.encode(), maintype="text", subtype="plain", filename="a.txt")
    if message.is_multipart():
        message.set_boundary("=====")
    file = place.deposits.open(made.id, write=True, truncate=True)
    try:
        file.write(0, message.as_bytes())
        file.flush()
    finally:
        file.release()


@operation
def edit(place: Place, chance: random.Random) -> None:
    """A further version of what is there."""
    name = chance.choice(place.entries(NameKind.FILE) or [None])
    if name is not None:
        file = place.deposits.open(name.id, write=True, append=True)
        try:
            file.write(name.size, chance.choice(SENTENCES).encode())
            file.flush()
        finally:
            file.release()
        place.settle()


@operation
def make_folder(place: Place, chance: random.Random) -> None:
    place.deposits.make_folder(place.folder(chance), chance.choice("de"), 0o755, os.getuid(), os.getgid())


@operation
def move(place: Place, chance: random.Random) -> None:
    """A rename, also over another file, into another folder or another ontology."""
    name = chance.choice([*place.entries(NameKind.FILE), *place.entries(NameKind.FOLDER)] or [None])
    if name is not None:
        new_name = chance.choice(FILES) if name.kind is NameKind.FILE else name.name
        place.deposits.move(name.id, place.folder(chance), new_name, replace=True)


@operation
def remove(place: Place, chance: random.Random) -> None:
    name = chance.choice(place.entries(NameKind.FILE) or [None])
    if name is not None:
        place.deposits.remove(name.id)


@operation
def work(place: Place, chance: random.Random) -> None:
    place.work()


@operation
def read_again(place: Place, chance: random.Random) -> None:
    """``kgfs ingest --force`` of what is known."""
    name = chance.choice(place.entries(NameKind.FILE) or [None])
    if name is not None:
        place.settle()
        place.deposits.settler.decide([name], again=True, force=True)


@operation
def regenerate(place: Place, chance: random.Random) -> None:
    """``kgfs regenerate`` of an ontology, or ``kgfs ingest --strategy`` of one document."""
    names, strategy = place.stores.catalog.names, chance.choice(STRATEGIES)
    ontology = place.ontology(chance.choice(ONTOLOGIES))
    place.settle()
    if chance.random() < 0.7:
        order = Order("asked for", strategy, anew=True)
        owe(place.stores.catalog, lambda: all_of(names, ontology), order)
    elif known := all_of(names, ontology):
        owe_again(place.stores, [chance.choice(sorted(known, key=lambda d: d.deposit)).doc_id], strategy)


@operation
def restore(place: Place, chance: random.Random) -> None:
    """``kgfs trash restore``, also to another path or ontology."""
    gone = chance.choice(sorted(trash.listed(place.stores), key=lambda gone: (gone.at, gone.path)) or [None])
    if gone is not None:
        elsewhere = f"{chance.choice(ONTOLOGIES)}/{chance.choice(FILES)}"
        trash.restore(place.deposits, place.stores, gone, chance.choice(["", elsewhere]))


@operation
def empty_trash(place: Place, chance: random.Random) -> None:
    trash.empty(place.stores, place.deposits.settler)


@operation
def forget_some(place: Place, chance: random.Random) -> None:
    """``kgfs forget``, whatever the cascade, of a file or a folder, also with --purge."""
    name = chance.choice([*place.entries(NameKind.FILE), *place.entries(NameKind.FOLDER)] or [None])
    if name is None:
        return
    place.settle()
    names = place.stores.catalog.names
    ontology, path = names.ontology(name.ontology), names.path(name.id)
    assert ontology is not None
    _forget(place, chance, f"{ontology.name}/documents/{path}")


def _forget(place: Place, chance: random.Random, words: str, *, purge: bool = False) -> None:
    target = find_document(place.stores, place.config.run, words)
    cascade = chance.choice(["orphans", "orphans", "all"] if purge else ["orphans", "orphans", "none", "all"])
    purge = purge or (cascade != "none" and chance.random() < 0.4)
    planned = forget_plan.plan(place.stores, [target], cascade, purge=purge)
    reported = words_known(place, {leaving.document.doc_id for leaving in planned.documents})
    forget.order(place.deposits, place.stores, planned)
    carried_out = forget.carry_out(place.config, place.stores)
    if planned.purge and carried_out:
        gone = reported - words_known(place)
        assert gone & words_used(place) == set(), "a word of what was purged names something"


@operation
def purge_who_named(place: Place, chance: random.Random) -> None:
    """``kgfs forget --purge`` of a document that a concept has its name from, which others speak of by another one."""
    ontology, graph = place.ontology(chance.choice(ONTOLOGIES)), place.stores.graph
    concepts = graph.concepts(ontology.id)
    speakers_of = graph.documents_of([concept.concept_id for concept in concepts])
    living = [(concept.name, frozenset(speakers_of[concept.concept_id])) for concept in concepts]
    chance.shuffle(living)
    for into, speakers in living:
        others = [name for name, of in living if of - speakers][: chance.randint(1, 2)]
        if len(speakers) == 1 and others:
            decide(place.stores, plan_merge(place.stores, ontology, into, others))
            place.settle()
            _forget(place, chance, *speakers, purge=True)
            return


def words_known(place: Place, of: set[str] | None = None) -> set[str]:
    """Normalised forms of concepts in all that was ever read, or in that of some documents."""
    objects = place.stores.garage.objects
    readings = [(key, objects.get(key)) for key, _ in list(objects.keys("readings/"))]
    found = [decode_reading(raw, key) for key, raw in readings if of is None or key.split("/")[1] in of]
    return {normalise_label(f) for r in found for concept in r.concepts for f in (concept.label, *concept.forms)}


def words_used(place: Place) -> set[str]:
    """What concepts were founded with or their directories are named by, as the garage and the graph have it."""
    objects, graph = place.stores.garage.objects, place.stores.graph
    decisions = [decode_decisions(objects.get(key), key) for key, _ in list(objects.keys("decisions/"))]
    used = {(m.founded_norm, m.name) for one in decisions for m in one.concepts}
    for ontology in place.stores.catalog.names.ontologies():
        used |= {(concept.norm, concept.name) for concept in graph.concepts(ontology.id)}
    return {word for norm, name in used for word in (norm, name.partition("~")[0].replace("-", " "))}


@operation
def forget_known(place: Place, chance: random.Random) -> None:
    """``kgfs forget DOC_ID`` of whatever is known: earlier versions, what is in the trash, tombstones."""
    place.settle()
    names = place.stores.catalog.names
    known = [document for ontology in names.ontologies() for document in names.documents(ontology.id)]
    if known:
        _forget(place, chance, chance.choice(sorted(known, key=lambda document: document.deposit)).doc_id)


@operation
def forget_ontology(place: Place, chance: random.Random) -> None:
    place.settle()
    _forget(place, chance, place.ontology(chance.choice(ONTOLOGIES)).name)


@operation
def remove_ontology(place: Place, chance: random.Random) -> None:
    """``rm -r`` of one, which may be made again under the same name."""
    ontology = place.ontology(chance.choice(ONTOLOGIES))
    for name in place.entries(NameKind.FILE):
        if name.ontology == ontology.id:
            place.deposits.remove(name.id)
    for name in reversed(place.entries(NameKind.FOLDER)):
        if name.ontology == ontology.id:
            place.deposits.remove(name.id)
    place.deposits.remove_ontology(ontology.id)


@operation
def rename_ontology(place: Place, chance: random.Random) -> None:
    ontology = place.ontology(chance.choice(ONTOLOGIES))
    place.deposits.rename_ontology(ontology.id, chance.choice([*ONTOLOGIES, "Another"]))


@operation
def merge_concepts(place: Place, chance: random.Random) -> None:
    """``kgfs concept merge``."""
    ontology = place.ontology(chance.choice(ONTOLOGIES))
    living = [concept.name for concept in place.stores.graph.concepts(ontology.id)]
    if len(living) > 1:
        into, *others = chance.sample(living, min(len(living), chance.randint(2, 3)))
        decide(place.stores, plan_merge(place.stores, ontology, into, others))


@operation
def split_concept(place: Place, chance: random.Random) -> None:
    """``kgfs concept split``, by label, by document or both."""
    ontology = place.ontology(chance.choice(ONTOLOGIES))
    spoken = {c.name: speaking_of(place.stores, ontology, c.name) for c in place.stores.graph.concepts(ontology.id)}
    several = [name for name, mentions in spoken.items() if len(mentions) > 1]
    if several:
        name = chance.choice(several)
        doc_id, label, _ = chance.choice(spoken[name])
        labels, doc_ids = chance.choice([([label], []), ([], [doc_id]), ([label], [doc_id])])
        called = chance.choice(["", "", f"split-{chance.randint(1, 9)}"])
        decide(place.stores, plan_split(place.stores, ontology, name, labels, doc_ids, called))


@operation
def mark_claims(place: Place, chance: random.Random) -> None:
    for ontology in place.stores.catalog.names.ontologies():
        claims = place.stores.graph.claims
        for role in claims.counts(ontology.id):
            one, *others = chance.sample(found := claims.living(ontology.id, role), len(found))
            if others and chance.random() < 0.5:
                claim_marks.merge(place.stores, ontology, one, others[0])
            elif len({row.doc_id for row in claims.evidence(one.shown.claim_id)}) > 1:
                claim_marks.split(place.stores, ontology, one)


# ------------------------------------------------------------------------------------------ what is seen


def seen(place: Place) -> dict[str, object]:
    """Every path of the tree with kind, mode, size, time and content; and the rows of graph and vectors."""
    context = TreeContext(place.config, place.stores, place.deposits, "seen", os.getuid(), os.getgid(), 1, TREE)
    found = seen_of(Root(context))
    graph = place.stores.graph
    for ontology in place.stores.catalog.names.ontologies():
        compared = (kind.table for kind in KINDS.values() if kind.compared)
        found |= {f"{table} of {ontology.name}": list(graph.rows(table, ontology.id)) for table in compared}
    if place.stores.vectors is not None:
        found["vectors"] = [
            (row.kind, row.item, row.window, row.ontology, row.doc_id, row.chunk_index, row.vector.tobytes())
            for row in place.stores.vectors.fetch(Filter())
        ]
    return found


def seen_of(root: Folder) -> dict[str, object]:
    """Every path of a tree with kind, mode, size, time and content."""
    found: dict[str, object] = {}
    _walk(root, "", found)
    return found


def _walk(folder: Folder, path: str, found: dict[str, object]) -> None:
    for name, node in folder.entries():
        below = f"{path}/{name}"
        if below == "/.kgfs":  # of the moment
            continue
        attr = node.attr()
        content: object = None
        if isinstance(node, File):
            content = read(node)
            assert attr.size == len(content), below
        elif isinstance(node, Link):
            content = node.target()
        xattrs = {key: node.attribute(key) for key in node.attributes()}
        found[below] = (stat.S_IFMT(attr.mode), attr.mode, attr.size, attr.mtime, content, xattrs)
        if isinstance(node, Folder):
            _walk(node, below, found)


def differences(before: dict[str, object], after: dict[str, object]) -> dict[str, object]:
    return {
        path: (before.get(path, "absent"), after.get(path, "absent"))
        for path in sorted(before.keys() | after.keys())
        if before.get(path, "absent") != after.get(path, "absent")
    }


def put_away(place: Place) -> None:
    """Whatever waits is settled, read and shipped: from here on the garage alone can tell the home."""
    for name in ONTOLOGIES:  # as when it is opened
        place.ontology(name)
    place.work()
    ship_once(place.stores.catalog, place.stores.garage.ledger)


def open_place(config: Config, stores: Stores, deposits: Deposits, compute: Compute) -> Place:
    place = Place(config, stores, deposits, compute)
    for name in ONTOLOGIES:
        place.ontology(name)
    return place


HISTORIES = st.lists(
    st.tuples(st.sampled_from(["write", "work", *OPERATIONS]), st.integers(0, 1 << 16)), min_size=6, max_size=24
)


@cache
def compute_with(embedder: str) -> LocalCompute:
    return LocalCompute(Models(embedder=embedder, extractor="statistics"))
