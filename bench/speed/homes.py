"""Homes to measure on, made straight through the contracts of graph, catalog and garage."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shutil
import time
import tomllib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from bench.generated import document_row, instance_row, source_row
from bench.speed.plan import FOLDER, Planned, walk, write_plan
from kgfs.app.home import open_deposits, open_home
from kgfs.config import Config, load
from kgfs.domain.documents import Ontology, StorageTier
from kgfs.domain.identity import concept_id_of, doc_id_of, garage_key_of, new_id
from kgfs.domain.knowledge import Mention
from kgfs.ingest.writing.deposit import Deposits
from kgfs.render.source import Excerpt, base_size
from kgfs.stores.catalog.facts import ContentKept, DocumentRead, FileMade, VersionMinted
from kgfs.stores.garage.contract import BLOCK, Sums
from kgfs.stores.garage.opening import open_garage
from kgfs.stores.graph.vocabulary import Batch, ConceptRow, InstanceRow, Publication, SourceRow
from kgfs.stores.stores import Stores
from kgfs.stores.vectors.opening import open_vectors
from kgfs.stores.worker_lock import worker_note
from kgfs.tree.concepts import ConceptsFolder
from kgfs.tree.documents import DocumentsFolder
from kgfs.tree.node import Folder
from kgfs.tree.tree_context import TreeContext
from kgfs.tree.views import TREE

NAME = "Bench"
BIG = "big.txt"
CONCEPTS_A_DOCUMENT = 100
"""At least; at most a thousand documents speak of concepts."""
LINE = "Line {:06d} points at the moon with a finger, and the finger is not the moon it points at, says the teacher.\n"


@dataclass(frozen=True, slots=True)
class Size:
    """What stands in a home. ``concepts`` have ``evidence`` pieces each."""

    label: str
    concepts: int = 0
    evidence: int = 3
    documents: int = 0
    """Of 2 KB, without concepts."""
    big: int = 0
    """Bytes of one more document."""

    @property
    def key(self) -> str:
        return f"{self.label}-{self.concepts}x{self.evidence}-{self.documents}-{self.big}"


@dataclass(frozen=True, slots=True)
class Home:
    config: Config
    plan: Path
    """Of the tree below ``Bench/concepts`` and ``Bench/documents``."""


def home_of(scratch: Path, size: Size) -> Home:
    """The home of that size, made if it is not there yet."""
    folder = scratch / size.key
    home, done = Home(load(folder / "home"), folder / "plan"), folder / "done"
    if not done.exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        with open_home(home.config) as stores, open_deposits(home.config, stores) as (deposits, session):
            ontology = deposits.make_ontology(NAME, 0o755, os.getuid(), os.getgid())
            _fill(stores, deposits, ontology, size)
            context = TreeContext(
                home.config, stores, deposits, session, os.getuid(), os.getgid(), time.time_ns(), TREE
            )
            write_plan(home.plan, list(_plan(context, ontology, size)))
        done.touch()
    return home


def home_on_servers(scratch: Path, size: Size, servers: Path) -> Home:
    """The same on servers, under names that nothing else has there; all it keeps is in its cache."""
    of = hashlib.sha256(servers.read_bytes()).hexdigest()[:12]
    folder = scratch / f"{size.key}-{of}"
    done, plan = folder / "done", home_of(scratch, size).plan
    if not done.exists():
        shutil.rmtree(folder, ignore_errors=True)
        config = place_on_servers(folder / "home", servers)
        with open_home(config) as stores, open_deposits(config, stores) as (deposits, _):
            ontology = deposits.make_ontology(NAME, 0o755, os.getuid(), os.getgid())
            _fill(stores, deposits, ontology, size)
            for key, length in stores.garage.objects.keys("sources/"):
                with closing(stores.garage.objects.open(key)) as reader:
                    for at in range(0, length, BLOCK):
                        reader.read_at(at, BLOCK)
        done.touch()
    return Home(load(folder / "home"), plan)


def place_on_servers(home: Path, servers: Path) -> Config:
    """A home that does not exist yet, on the servers of a configuration, where it has a place of its own."""
    settings, own = tomllib.loads(servers.read_text()), f"bench-{secrets.token_hex(4)}"
    settings.setdefault("garage", {}).update(prefix=f"{own}/", cache_bytes=4 << 30)
    settings.setdefault("graph", {})["namespace"] = own
    settings.setdefault("vectors", {})["prefix"] = own
    home.mkdir(parents=True)
    (home / "config.toml").write_text(
        "".join(
            f"[{section}]\n" + "".join(f"{name} = {json.dumps(value)}\n" for name, value in values.items())
            for section, values in settings.items()
        )
    )
    return load(home, environ={})


def empty(config: Config) -> None:
    """Delete what a home has on servers. The home is of no use afterwards."""
    if config.vectors.store == "qdrant" and (model := str(worker_note(config.run).get("embedder", ""))):
        with closing(open_vectors(config, model)) as vectors:
            vectors.clear()
    if config.garage_store.store == "s3":
        from kgfs.stores.garage.s3.garage import S3Garage

        with closing(open_garage(config)) as garage:
            bucket = cast(S3Garage, garage)._bucket  # the garage itself never deletes its ledger
            for found in list(bucket.listed("")):
                bucket.delete(found.name)


def _plan(context: TreeContext, ontology: Ontology, size: Size) -> Iterator[Planned]:
    depth = 1 if size.concepts > 20_000 else 9
    yield Planned(NAME, FOLDER)
    parts: dict[str, Folder] = {
        "concepts": ConceptsFolder(context, ontology),
        "documents": DocumentsFolder(context, ontology, ontology.root),
    }
    for name, folder in parts.items():
        yield Planned(f"{NAME}/{name}", FOLDER)
        yield from walk(folder, f"{NAME}/{name}", depth)


def _fill(stores: Stores, deposits: Deposits, ontology: Ontology, size: Size) -> None:
    step = max(CONCEPTS_A_DOCUMENT, size.concepts // 1000)
    for number, first in enumerate(range(0, size.concepts, step)):
        count = min(step, size.concepts - first)
        lines = [LINE.format(first * size.evidence + n) for n in range(count * max(size.evidence, 1))]
        labels = [f"concept {n:07d}" for n in range(first, first + count)]
        document(stores, deposits, ontology, f"source-{number:06d}.txt", lines, labels, size.evidence)

    def small(number: int) -> None:
        document(stores, deposits, ontology, f"doc-{number:06d}.txt", [LINE.format(number)] * 19, [], 0)

    with ThreadPoolExecutor(8) as several:  # the garage waits for the disk
        list(several.map(small, range(size.documents)))
    if size.big:
        spooled = deposits.copies.fresh_path()
        write_big(spooled, size.big)
        sha256 = _sha256_of(spooled)
        key = garage_key_of(ontology.prefix, sha256, "txt")
        sums = stores.garage.objects.put(key, spooled, move=True)
        _name(deposits, ontology, BIG, sums, key)


def write_big(path: Path, size: int) -> None:
    block = (LINE.format(0) * 10_000).encode()[: 1 << 20]
    with path.open("wb") as file:
        for number in range(size >> 20):
            file.write(b"%016d" % number + block[16:])


def _sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def document(
    stores: Stores,
    deposits: Deposits,
    ontology: Ontology,
    name: str,
    lines: list[str],
    labels: list[str],
    evidence: int,
) -> None:
    """A document of one Source a label, a line for each piece of evidence, kept and published."""
    text = "".join(lines)
    raw = text.encode("ascii")
    sha256 = hashlib.sha256(raw).hexdigest()
    key = garage_key_of(ontology.prefix, sha256, "txt")
    doc_id = _name(deposits, ontology, name, stores.garage.objects.put(key, raw), key)
    commit = f"bench {doc_id}"
    step = len(lines) // len(labels) if labels else len(lines)
    sources: list[SourceRow] = []
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    for index, first in enumerate(range(0, len(lines), step)):
        start, end = starts[first], starts[first + step]
        sources.append(source_row(doc_id, index, text[start:end], start, first + 1, step))
    row = document_row(doc_id, ontology.id, name, sources, sha256, key)
    concepts: list[ConceptRow] = []
    instances: list[InstanceRow] = []
    for index, label in enumerate(labels):
        owner = concept_id_of(ontology.id, label)
        mention = Mention(doc_id, 1, label, (label,), "term", 0.5, "")
        concepts.append(ConceptRow(owner, ontology.id, label, label.replace(" ", "-"), mention))
        for n in range(evidence):
            at = index * step + n
            start, end, source = starts[at] + 5, starts[at] + 40, sources[index]
            size = base_size(Excerpt(source.full_text, source.char_start, source.line_start, start, end))
            instances.append(instance_row(source, owner, "concept", n + 1, start, end, at + 1, size))
    stores.graph.stage(commit, doc_id, Batch(sources, {"instance": instances}))
    stores.graph.publish(Publication(commit, row, concepts, (), (), time.time_ns()))
    deposits.record(DocumentRead(doc_id, "done", "", "", commit, (), time.time_ns()))


def _name(deposits: Deposits, ontology: Ontology, name: str, sums: Sums, key: str) -> str:
    """The file in documents/ and its version; returns its Document's id."""
    made, now = new_id(), time.time_ns()
    source_id = f"{ontology.id}/{name}"
    doc_id = doc_id_of(source_id, sums.sha256)
    deposits.record(
        FileMade(made, ontology.id, ontology.root, name, 0o644, os.getuid(), os.getgid(), now),
        ContentKept(made, sums.sha256, sums.size, StorageTier.GARAGE, key, now, now),
        VersionMinted(
            made, ontology.id, 1, doc_id, sums.sha256, sums.size, key, source_id, name, "insert", "bench", now
        ),
    )
    return doc_id
