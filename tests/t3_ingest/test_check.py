"""Each kind of damage: found, mended or quarantined, and gone on the second look."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from kgfs.app import upkeep
from kgfs.app.home import open_deposits, open_home
from kgfs.app.upkeep import check_home
from kgfs.app.working import run_worker
from kgfs.compute.contract import LocalEngine
from kgfs.compute.local import LocalCompute
from kgfs.config import Config, load
from kgfs.errors import StoreError
from kgfs.ingest.lifecycle.rebuild import rebuild_graph
from kgfs.ingest.reading.clock import StageClock
from kgfs.ingest.repair.repair import repair
from kgfs.ingest.storing.content import open_content
from kgfs.ingest.storing.settle import alive_sessions
from kgfs.ingest.working.pipeline import Pipeline
from kgfs.ingest.working.worker import Worker
from kgfs.ingest.writing.open_file import OpenFile
from kgfs.knowledge import timing
from kgfs.settings import Models
from kgfs.stores.catalog.facts import SettingChanged
from kgfs.stores.damage import REMEDIES, Damage, Kind
from kgfs.stores.error_log import ErrorLog
from kgfs.stores.garage import files
from kgfs.stores.garage.opening import open_garage
from kgfs.stores.garage.s3.garage import S3Garage
from kgfs.stores.garage.s3.names import object_name
from kgfs.stores.garage.sums import encode_sums, sums_of
from kgfs.stores.locks import locked
from kgfs.stores.quarantine import erase, quarantine, quarantine_file
from kgfs.stores.vectors.contract import Filter
from kgfs.stores.worker_lock import worker_note
from tests.support.knowledge_of import knowledge_in
from tests.support.peers.homes import anywhere, lifecycle

pytestmark = lifecycle

TEXT = "Reference counting is a form of garbage collection. Garbage collection reclaims unreachable memory cells."
LARGE = TEXT.encode() * 1000
"""Goes through the spool."""
OTHER = "Zen is a school of Buddhism.\r\nA koan is a riddle that is used in Zen — often.\n"


@cache
def compute() -> LocalCompute:
    return LocalCompute(Models(embedder="none", extractor="statistics"))


@dataclass
class Home:
    config: Config

    def __post_init__(self) -> None:
        with open_home(self.config) as stores, open_deposits(self.config, stores) as (deposits, _):
            for name, text in (("a.txt", TEXT.encode()), ("b.txt", OTHER.encode("utf-16"))):
                path = self.config.home / name
                path.write_bytes(text)
                deposits.ingest_file(path, "Test")
                path.unlink()
        self.work()
        self.knowledge = self.know()

    def work(self) -> None:
        with open_home(self.config) as stores:
            pipeline = Pipeline(
                self.config, stores, compute(), StageClock(), LocalEngine(compute(), stores.garage.objects)
            )
            Worker(pipeline, ErrorLog(self.config.errors_log), lambda: None).run(until_idle=True)
        with open_home(self.config) as stores, open_deposits(self.config, stores):
            pass  # what it noted is shipped

    def know(self) -> dict[str, Any]:
        with open_home(self.config) as stores:
            return knowledge_in(stores)

    def found(self, *, deep: bool = False, mend: bool = False) -> list[tuple[Kind, str]]:
        """(kind, what was done)"""
        return [
            (damage.kind, done)
            for damage, done in check_home(self.config, deep=deep, mend=mend, progress=lambda *_: None)
        ]

    def object(self, folder: str, suffix: str = "") -> Path:
        """One of the garage's files."""
        top = self.config.garage / "objects" / folder
        return next(p for p in sorted(top.rglob(f"*{suffix}")) if p.is_file() and "@sums" not in p.name)

    @property
    def is_in_files(self) -> bool:
        return self.config.garage_store.store == "files"

    @contextmanager
    def kept(self, folder: str) -> Iterator[tuple[S3Garage, str]]:
        """The key of one of the bucket's objects."""
        with closing(open_garage(self.config)) as garage:
            assert isinstance(garage, S3Garage)
            yield garage, next(key for key, _ in garage.objects.keys(f"{folder}/"))

    def flip(self, folder: str) -> None:
        """A bit of one of the garage's objects."""
        if self.is_in_files:
            flip(self.object(folder))
            return
        with self.kept(folder) as (garage, key):
            found, raw = garage._bucket.get(object_name(key))
            garage._bucket.replace(found.name, flipped(raw), found.meta)

    def remove(self, folder: str) -> None:
        """One of the garage's objects; in files, but not its sums."""
        if self.is_in_files:
            remove(self.object(folder))
            return
        with self.kept(folder) as (garage, key):
            garage.objects.delete(key)

    def sql(self, database: str, *statements: str) -> None:
        with closing(sqlite3.connect(self.config.home / f"{database}.sqlite", isolation_level=None)) as db:
            db.execute("PRAGMA foreign_keys=OFF")
            for statement in statements:
                assert db.execute(statement).rowcount != 0, statement

    def quarantined(self) -> list[str]:
        notes = sorted((self.config.home / "quarantine").glob("*.note.json"))
        return [json.loads(note.read_text())["was"] for note in notes]


@pytest.fixture
def damaged(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Home]:
    monkeypatch.setattr(timing, "CHECK_SECOND_PASS", 0.0)
    place = Home(load(home))
    assert place.found(deep=True) == [], "whole at first"
    yield place


def flip(path: Path) -> None:
    raw = flipped(path.read_bytes())
    os.chmod(path, 0o600)
    path.write_bytes(raw)


def flipped(raw: bytes) -> bytes:
    """In one bit."""
    middle = len(raw) // 2
    return raw[:middle] + bytes([raw[middle] ^ 1]) + raw[middle + 1 :]


def remove(path: Path) -> None:
    path.unlink()


def remove_with_sums(path: Path) -> None:
    path.unlink()
    path.with_name(f"{path.name}@sums").unlink(missing_ok=True)


def mends(damaged: Home, kind: Kind, done: str, *, deep: bool = False) -> None:
    """It is found (and nothing else), found again as long as nothing is done, mended, and then all is as it was."""
    assert {found for found, _ in damaged.found(deep=deep)} == {kind}
    first = damaged.found(deep=deep, mend=True)
    assert {found for found, _ in first} == {kind}
    assert done in first[0][1], first
    damaged.work()
    assert damaged.found(deep=True) == []
    assert damaged.know() == damaged.knowledge


# ---------------------------------------------------------------------------------------------- originals


@pytest.mark.files("damage")
@pytest.mark.claim("DERIVE-2")
@pytest.mark.parametrize("lose", [remove, remove_with_sums])
def test_a_missing_original_is_reported_until_the_same_file_comes_again(
    damaged: Home, lose: Callable[[Path], None], tmp_path: Path
) -> None:
    path = damaged.object("sources")
    content = path.read_bytes()
    lose(path)
    for mend in (False, True, False):
        assert damaged.found(mend=mend) == [(Kind.MISSING_ORIGINAL, "")], "and is not hushed up"
    (tmp_path / "again.txt").write_bytes(content)
    with open_home(damaged.config) as stores, open_deposits(damaged.config, stores) as (deposits, _):
        deposits.ingest_file(tmp_path / "again.txt", "Test")
    damaged.work()
    assert damaged.found(deep=True) == []
    assert path.read_bytes() == content


@anywhere
def test_what_left_the_garage_by_its_own_door_is_reported(damaged: Home) -> None:
    with open_home(damaged.config) as stores:
        objects = stores.garage.objects
        objects.delete(next(key for key, _ in objects.keys("sources/")))
    assert damaged.found(mend=True) == [(Kind.MISSING_ORIGINAL, "")]


def test_a_flipped_bit_is_found_by_a_deep_look(damaged: Home) -> None:
    damaged.flip("sources")
    assert damaged.found() == [], "nobody read it"
    assert damaged.found(deep=True) == [(Kind.ROTTEN_ORIGINAL, "")]
    assert damaged.found(deep=True, mend=True) == [(Kind.ROTTEN_ORIGINAL, "quarantined; the original is missing now")]
    assert damaged.quarantined()[0].startswith("sources/Test/")
    assert damaged.found(deep=True) == [(Kind.MISSING_ORIGINAL, "")]


# ---------------------------------------------------------------------------------------- parts of readings


@pytest.mark.logs("recover MissingError")
@pytest.mark.parametrize("folder", ["readings", "decisions", "records"])
def test_a_missing_part_of_a_reading(damaged: Home, folder: str) -> None:
    damaged.remove(folder)
    mends(damaged, Kind.MISSING_PART, "owed to the worker")


@pytest.mark.logs("recover MissingError")
@pytest.mark.parametrize("folder", ["readings", "decisions", "records"])
def test_a_rotten_part_of_a_reading(damaged: Home, folder: str) -> None:
    damaged.flip(folder)
    mends(damaged, Kind.ROTTEN_PART, "owed to the worker", deep=True)
    assert damaged.quarantined()[0].startswith(f"{folder}/")


@pytest.mark.files("damage")
@pytest.mark.parametrize("folder", ["sources", "readings", "decisions", "records"])
def test_lost_sums_are_made_again(damaged: Home, folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "SELF_PROVED", -1)  # as objects are that are larger, or that no hash names
    for path in [one for one in (damaged.config.garage / "objects").rglob("*.*") if one.is_file()]:
        path.with_name(f"{path.name}@sums").write_bytes(encode_sums(sums_of(path)))
    found = damaged.object(folder)
    remove(found.with_name(f"{found.name}@sums"))
    kinds = {kind for kind, _ in damaged.found()}
    assert Kind.LOST_SUMS in kinds or folder == "readings"
    damaged.found(mend=True)
    damaged.work()
    assert damaged.found(deep=True) == []
    assert damaged.know() == damaged.knowledge


@pytest.mark.files("damage")
@pytest.mark.parametrize("folder", ["readings", "records"])
def test_one_damage_is_told_of_once(damaged: Home, folder: str) -> None:
    flip(damaged.object(folder))
    assert [kind for kind, _ in damaged.found(deep=True)] == [Kind.ROTTEN_PART]
    remove_with_sums(damaged.object(folder))
    assert [kind for kind, _ in damaged.found(deep=True)] == [Kind.MISSING_PART]


@anywhere
def test_an_orphan(damaged: Home) -> None:
    with open_home(damaged.config) as stores:
        stores.garage.objects.put(f"sources/Test/{'0' * 32}.txt", b"nobody's")
        stores.garage.objects.put(f"readings/{'0' * 16}/{'1' * 16}.json", b"{}")
    mends(damaged, Kind.ORPHAN, "quarantined")
    assert len(damaged.quarantined()) == 2


# ---------------------------------------------------------------------------------------------- the ledger


def segment(damaged: Home) -> Path:
    return next((damaged.config.garage / "ledger").glob("*.log"))


@pytest.mark.files("damage")
def test_a_torn_ledger(damaged: Home) -> None:
    path = segment(damaged)
    whole = path.read_bytes()
    path.write_bytes(whole + b"0123456789abcdef 99 {to")
    mends(damaged, Kind.TORN_LEDGER, "mended")
    assert path.read_bytes() == whole


@pytest.mark.files("damage")
def test_a_rotten_ledger_is_mended_from_its_front(damaged: Home) -> None:
    path = segment(damaged)
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b'"name"', b'"nome"', 1))
    mends(damaged, Kind.ROTTEN_LEDGER, "mended")
    assert path.read_bytes() == whole


@pytest.mark.files("shipped")
def test_facts_that_nobody_shipped(damaged: Home) -> None:
    with open_home(damaged.config) as stores:
        ontology = stores.catalog.names.ontologies()[0]
        stores.catalog.record(SettingChanged(ontology.id, "x", "y", 1))
    mends(damaged, Kind.UNSHIPPED, "shipped")


# --------------------------------------------------------------------------------------- graph and catalog


@pytest.mark.files("damage")
@pytest.mark.parametrize(
    ("statement", "kind"),
    [
        ("DELETE FROM document WHERE doc_id = (SELECT min(doc_id) FROM document)", Kind.DANGLING),
        ("UPDATE document SET doc_id = '0123456789abcdef' WHERE key = (SELECT min(key) FROM document)", None),
        ("DELETE FROM instance WHERE n = 1", Kind.DANGLING),
        ("DELETE FROM mention WHERE concept = (SELECT min(concept) FROM mention)", Kind.DANGLING),
        ("UPDATE instance SET owner = 'nobody' WHERE (owner, n) = (SELECT min(owner), 1 FROM instance)", None),
        ("DELETE FROM source WHERE chunk_index = 0", None),
    ],
)
def test_rows_that_do_not_fit_together(damaged: Home, statement: str, kind: Kind | None) -> None:
    damaged.sql("graph", statement)
    kinds = {found for found, _ in damaged.found()}
    assert kinds
    assert kind is None or kind in kinds
    damaged.found(mend=True)
    assert damaged.found(deep=True) == []
    assert damaged.know() == damaged.knowledge


def test_a_document_that_the_graph_lost(damaged: Home) -> None:
    with open_home(damaged.config) as stores:
        doc_id = stores.graph.documents(stores.catalog.names.ontologies()[0].id)[0].doc_id
        stores.graph.forget("nobody noted this", [doc_id], 1)
    mends(damaged, Kind.NOT_IN_GRAPH, "derived anew")


@pytest.mark.files("damage")
def test_a_quote_that_does_not_stand_there(damaged: Home) -> None:
    damaged.sql("graph", "UPDATE instance SET char_start = char_start + 1, char_end = char_end + 1")
    assert damaged.found() == []
    mends(damaged, Kind.WRONG_SPAN, "derived anew", deep=True)


@pytest.mark.files("damage")
@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO source_words (source_words) VALUES ('delete-all')",
        "INSERT INTO source_words (rowid, full_text) VALUES (99999, 'nobody said that')",
    ],
)
def test_a_stale_word_index(damaged: Home, statement: str) -> None:
    damaged.sql("graph", statement)
    mends(damaged, Kind.STALE_WORDS, "derived anew")


@pytest.mark.files("damage")
def test_a_damaged_database(damaged: Home) -> None:
    damaged.sql("graph", "PRAGMA wal_checkpoint(TRUNCATE)")
    path = damaged.config.graph_db
    raw = bytearray(path.read_bytes())
    for at in range(4096 * 8, len(raw), 4096):
        raw[at : at + 200] = os.urandom(200)
    path.write_bytes(raw)
    damaged.found(mend=True)
    assert damaged.found(deep=True) == []
    assert damaged.know() == damaged.knowledge


# ------------------------------------------------------------------------------------------- what is owed


def test_stuck_jobs(damaged: Home) -> None:
    with open_home(damaged.config) as stores:
        doc_id = stores.graph.documents(stores.catalog.names.ontologies()[0].id)[0].doc_id
        stores.catalog.jobs.owe("read", doc_id)
        assert stores.catalog.jobs.claim("somebody", 0.0)
    damaged.sql(
        "front",
        "UPDATE job SET lease_until = 1",
        "INSERT INTO job (kind, doc_id, ontology, deposit) VALUES ('read', '0123456789abcdef', 'x', 1)",
    )
    assert {kind for kind, _ in damaged.found()} == {Kind.STUCK_JOB}
    assert len(damaged.found(mend=True)) == 2
    assert damaged.found() == []


def test_a_spool_file_of_a_dead_session(damaged: Home) -> None:
    (damaged.config.spool / "deadbeef-1").write_bytes(b"half writ")
    mends(damaged, Kind.LEFT_SPOOL, "quarantined")
    assert damaged.quarantined() == ["spool/deadbeef-1"]


def test_what_a_session_writes_that_began_after_the_living_were_counted_is_left_to_it(
    damaged: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A large file, written all the while that a long check takes."""
    with open_home(damaged.config) as stores, ExitStack() as stack:
        begun: list[OpenFile] = []

        def counted(run: Path) -> list[str]:
            found = alive_sessions(run)
            deposits, _ = stack.enter_context(open_deposits(damaged.config, stores))
            made = deposits.make_file(stores.catalog.names.ontologies()[0].root, "large.txt", 0o644, 0, 0)
            begun.append(deposits.open(made.id, write=True))
            begun[0].write(0, LARGE)
            return found

        monkeypatch.setattr(upkeep, "alive_sessions", counted)
        found = damaged.found(mend=True)
        begun[0].flush()
        begun[0].release()
        assert Kind.LEFT_SPOOL not in {kind for kind, _ in found}
        (root,) = [one.root for one in stores.catalog.names.ontologies()]
        kept = stores.catalog.names.child(root, "large.txt")
        assert kept is not None
        with closing(open_content(stores, damaged.config.spool, kept.id)[1]) as content:
            assert content.read_at(0, len(LARGE)) == LARGE


def test_a_spool_file_that_is_somebodys_by_now_is_left(damaged: Home) -> None:
    """Its session began, and it was kept, after the look that took it for nobody's."""
    with open_home(damaged.config) as stores, open_deposits(damaged.config, stores) as (deposits, _):
        made = deposits.make_file(stores.catalog.names.ontologies()[0].root, "large.txt", 0o644, 0, 0)
        file = deposits.open(made.id, write=True)
        file.write(0, LARGE)
        (path,) = damaged.config.spool.iterdir()
        seen = [Damage(Kind.LEFT_SPOOL, path.name)]
        assert repair(damaged.config, stores, seen) == [(seen[0], "wanted again")]
        file.flush()
        file.release()
        assert repair(damaged.config, stores, seen) == [(seen[0], "wanted again")]
        assert deposits.content(made.id).read_at(0, len(LARGE)) == LARGE
    assert damaged.quarantined() == []


@pytest.mark.parametrize("settled", [True, False])
def test_an_orphan_that_is_somebodys_by_now_is_left(damaged: Home, tmp_path: Path, settled: bool) -> None:
    """The same bytes were deposited after the look that took it for nobody's."""
    key = f"sources/Test/{hashlib.sha256(LARGE).hexdigest()[:32]}.txt"
    with open_home(damaged.config) as stores, open_deposits(damaged.config, stores) as (deposits, _):
        stores.garage.objects.put(key, LARGE)
        seen = [Damage(Kind.ORPHAN, key)]
        if settled:
            (tmp_path / "large.txt").write_bytes(LARGE)
            deposits.ingest_file(tmp_path / "large.txt", "Test")
        else:
            made = deposits.make_file(stores.catalog.names.ontologies()[0].root, "large.txt", 0o644, 0, 0)
            file = deposits.open(made.id, write=True)
            file.write(0, LARGE)
            file.release()
        assert repair(damaged.config, stores, seen) == [(seen[0], "wanted again")]
        assert stores.garage.objects.get(key) == LARGE


def test_what_is_quarantined_is_durable_before_it_leaves_its_place(
    damaged: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = damaged.config.spool / "deadbeef-3"
    left.write_bytes(b"nobody's")
    synced: list[str] = []
    fsync, unlink = os.fsync, Path.unlink

    def sync(descriptor: int) -> None:
        synced.append(Path(f"/proc/self/fd/{descriptor}").readlink().name)
        fsync(descriptor)

    def leaving(path: Path, missing_ok: bool = False) -> None:
        if path == left:
            assert {"quarantine", damaged.config.home.name} <= set(synced)
            assert any(name.endswith("spool_deadbeef-3.new") for name in synced)
        unlink(path, missing_ok=missing_ok)

    monkeypatch.setattr(os, "fsync", sync)
    monkeypatch.setattr(Path, "unlink", leaving)
    quarantine_file(damaged.config, left, "for a test")
    assert not left.exists()
    assert damaged.quarantined() == ["spool/deadbeef-3"]


def test_a_copy_that_is_on_its_way_to_the_garage_is_no_damage(damaged: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    original = damaged.config.home / "large"
    original.write_bytes(b"large")
    os.utime(original, (0, 0))  # as old as a file may be that is delivered
    copy = damaged.config.spool / "copy-0123456789abcdef"
    os.link(original, copy)
    assert damaged.found() == []
    monkeypatch.setattr(timing, "COPY_UPLOAD", 0.0)
    assert damaged.found() == [(Kind.LEFT_SPOOL, "")]
    with locked(copy):
        assert damaged.found() == []
    mends(damaged, Kind.LEFT_SPOOL, "quarantined")


def test_an_inbox_row_that_nobody_refers_to(damaged: Home) -> None:
    damaged.sql("front", f"INSERT INTO inbox VALUES ('{'0' * 64}', x'41')")
    mends(damaged, Kind.LEFT_INBOX, "dropped")


def test_a_working_copy_that_is_lost_is_said(damaged: Home) -> None:
    with open_home(damaged.config) as stores, open_deposits(damaged.config, stores) as (deposits, _):
        root = stores.catalog.names.ontologies()[0].root
        made = deposits.make_file(root, "large.txt", 0o644, 0, 0)
        file = deposits.open(made.id, write=True)
        file.write(0, b"x" * 100_000)
        file.flush()
        file.release()
    for path in damaged.config.spool.iterdir():
        path.unlink()
    assert damaged.found(mend=True) == [(Kind.LOST_SPOOL, "")]
    assert damaged.found() == [(Kind.LOST_SPOOL, "")]


def test_a_purge_erases_what_is_in_quarantine(damaged: Home) -> None:
    with open_home(damaged.config) as stores:
        key, sha256, doc_id = next(stores.catalog.promised())
        quarantine(damaged.config, stores, key, "for a test")
        assert damaged.quarantined() == [key]
    (damaged.config.spool / "deadbeef-2").write_bytes(b"of another")
    quarantine_file(damaged.config, damaged.config.spool / "deadbeef-2", "for a test")
    erase(damaged.config, [doc_id], [sha256])
    assert damaged.quarantined() == ["spool/deadbeef-2"]


def test_every_kind_has_a_remedy() -> None:
    assert set(REMEDIES) == set(Kind)


# -------------------------------------------------------------------------------------------- the front


def test_an_older_copy_of_the_names(damaged: Home, tmp_path: Path) -> None:
    damaged.sql("front", "PRAGMA wal_checkpoint(TRUNCATE)")
    older = damaged.config.catalog_db.read_bytes()
    with open_home(damaged.config) as stores, open_deposits(damaged.config, stores) as (deposits, _):
        deposits.make_folder(stores.catalog.names.ontologies()[0].root, "later", 0o755, 0, 0)
    for path in damaged.config.home.glob("front.sqlite-*"):
        path.unlink()
    damaged.config.catalog_db.write_bytes(older)
    with pytest.raises(StoreError, match="kgfs check --repair"), open_home(damaged.config):
        pass
    assert damaged.found() == [(Kind.OLD_FRONT, "")]
    assert damaged.found(mend=True) == [(Kind.OLD_FRONT, "made anew from the ledger")]
    assert damaged.found(deep=True) == []
    with open_home(damaged.config) as stores:
        assert stores.catalog.names.resolve(stores.catalog.names.ontologies()[0].id, "later")


def test_names_beyond_use(damaged: Home) -> None:
    damaged.config.catalog_db.write_bytes(b"no database " * 1000)
    for path in damaged.config.home.glob("front.sqlite-*"):
        path.unlink()
    with pytest.raises(StoreError, match="kgfs check --repair"):
        damaged.found()
    assert damaged.found(mend=True) == [(Kind.DAMAGED_DATABASE, "made anew from the ledger")]
    assert damaged.found(deep=True) == []
    assert damaged.know() == damaged.knowledge


@pytest.mark.files("damage")
def test_rows_and_readings_lost_at_once(damaged: Home) -> None:
    remove(damaged.object("readings"))
    damaged.sql("graph", "DELETE FROM instance WHERE n = 1")
    damaged.found(mend=True)
    damaged.work()
    assert damaged.found(deep=True) == []
    assert damaged.know() == damaged.knowledge
    with open_home(damaged.config) as stores:
        rebuild_graph(stores)
    assert damaged.know() == damaged.knowledge, "also when it is derived anew without the lost one"


# ------------------------------------------------------------------------------------------------ vectors


@pytest.mark.files("damage")
@pytest.mark.models
@pytest.mark.logs("recover MissingError")
def test_vectors(home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(timing, "CHECK_SECOND_PASS", 0.0)
    monkeypatch.setenv("KGFS_MODELS_EXTRACTOR", "statistics")
    config = Config(home, models=Models(embedder="minilm", extractor="statistics"))
    with open_home(config) as stores, open_deposits(config, stores) as (deposits, _):
        for name, text in (("a.txt", TEXT), ("b.txt", OTHER)):
            (tmp_path / name).write_text(text)
            deposits.ingest_file(tmp_path / name, "Test")
    run_worker(config, until_idle=True)

    def found(*, deep: bool = False, mend: bool = False) -> list[Kind]:
        return [d.kind for d, _ in check_home(config, deep=deep, mend=mend, progress=lambda *_: None)]

    def rows() -> list[tuple[str, bytes]]:
        with open_home(config, vectors_of=worker_note(config.run)["embedder"]) as stores:
            assert stores.vectors is not None
            return [(row.item, row.vector.tobytes()) for row in stores.vectors.fetch(Filter())]

    before = rows()
    assert found(deep=True) == []
    with closing(sqlite3.connect(config.vectors_db, isolation_level=None)) as db:
        db.execute("UPDATE row SET doc_id = '0123456789abcdef' WHERE doc_id = (SELECT max(doc_id) FROM row)")
    assert found() == [Kind.MISSING_VECTORS, Kind.STALE_VECTORS]
    assert found(mend=True) == [Kind.MISSING_VECTORS, Kind.STALE_VECTORS]
    assert found(deep=True) == []
    assert rows() == before
    with open_home(config, vectors_of=worker_note(config.run)["embedder"]) as stores:
        assert stores.vectors is not None
        (*_, row) = stores.vectors.fetch(Filter(kind="concept"))
        stores.vectors.upsert([replace(row, item="0123456789abcdef")])
    assert found() == [Kind.STALE_VECTORS], "of a concept that nobody knows"
    assert found(mend=True) == [Kind.STALE_VECTORS]
    assert rows() == before
    flip(next(p for p in sorted((config.garage / "objects/vectors").rglob("*.npz"))))
    assert found(deep=True, mend=True) == [Kind.ROTTEN_PART]
    run_worker(config, until_idle=True)
    assert found(deep=True) == []
    assert rows() == before
