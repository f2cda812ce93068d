"""Every chunk_id ever issued resolves, whatever became of its document, unless that was purged."""

from __future__ import annotations

from pathlib import Path

import pytest

from kgfs.app import api
from kgfs.app.home import open_deposits, open_home
from kgfs.config import Config, load
from kgfs.errors import MissingError
from kgfs.knowledge.cite import REMOVED
from tests.support.peers.homes import anywhere
from tests.support.running import QUICK
from tests.support.working import Counting, deposit, work

pytestmark = [anywhere, pytest.mark.claim("CITE-1")]
FIRST = "A tide mill grinds grain. " * 40
SECOND = "A sluice gate keeps the water of the mill pond. " * 40


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {**QUICK, "KGFS_PIPELINE_CHUNK_TOKENS": "60"}.items():
        monkeypatch.setenv(name, value)


def read(config: Config, folder: Path, **texts: str) -> None:
    with open_home(config) as stores:
        deposit(config, stores, folder, **texts)
        work(config, stores, Counting())


def issued(config: Config) -> dict[str, str]:
    """Each chunk_id that the graph has now, with its text."""
    with open_home(config) as stores:
        return {
            source.chunk_id: source.full_text
            for ontology in stores.catalog.names.ontologies()
            for document in stores.graph.documents(ontology.id)
            for source in stores.graph.sources(document.doc_id)
        }


def agreed(*args: object) -> bool:
    return True


def test_what_is_shown_is_cited(home: Path, tmp_path: Path) -> None:
    config = load(home)
    read(config, tmp_path, a=FIRST)
    known = issued(config)
    assert len(known) > 2
    for chunk_id, text in known.items():
        found = api.cite(config, chunk_id)
        assert (found.chunk_id, found.text, found.shown) == (chunk_id, text, True)
        assert (found.ontology, found.document, found.paths) == ("Test", "documents/a.txt", ("documents/a.txt",))
        assert FIRST[found.char_start : found.char_end] == text
        assert (found.line_start, found.line_end) == (1, 1)


def test_what_was_overtaken_read_anew_and_removed_is_cited(home: Path, tmp_path: Path) -> None:
    config = load(home)
    read(config, tmp_path, a=FIRST)
    first = issued(config)
    read(config, tmp_path, a=SECOND)
    second = issued(config)
    assert not first.keys() & second.keys()
    for known, shown, at in ((first, False, "versions/a.txt@/1.txt"), (second, True, "documents/a.txt")):
        for chunk_id, text in known.items():
            found = api.cite(config, chunk_id)
            assert (found.text, found.shown, found.document) == (text, shown, at)
    config.chunk_index_db.unlink()
    assert [api.cite(config, chunk_id).text for chunk_id in first] == list(first.values()), "the index is derived"


def test_of_what_left_the_trash_place_and_hash_stay(home: Path, tmp_path: Path) -> None:
    config = load(home)
    read(config, tmp_path, a=FIRST)
    known = issued(config)
    with open_home(config) as stores, open_deposits(config, stores) as (deposits, _):
        [ontology] = stores.catalog.names.ontologies()
        name = stores.catalog.names.resolve(ontology.id, "a.txt")
        assert name is not None
        deposits.remove(name.id)
    read(config, tmp_path, other=SECOND)
    [removed] = api.removed(config)
    chunk_id, text = next(iter(known.items()))
    found = api.cite(config, chunk_id)
    assert (found.text, found.shown, found.document) == (text, False, f"archive/{removed.file.doc_id}/original")
    api.empty_trash(config, 0, agreed)
    for chunk_id in known:
        gone = api.cite(config, chunk_id)
        assert (gone.text, gone.reason, gone.doc_id) == (None, REMOVED, removed.file.doc_id)
        assert gone.content_hash == removed.file.sha256
        assert gone.line_start >= 1


def test_of_what_was_purged_nothing_is_cited(home: Path, tmp_path: Path) -> None:
    config = load(home)
    read(config, tmp_path, a=FIRST, b=SECOND)
    known = issued(config)
    assert all(api.cite(config, chunk_id).text == text for chunk_id, text in known.items())
    api.forget(config, ["Test/a.txt"], cascade="orphans", purge=True, agree=agreed)
    left = issued(config)
    for chunk_id in known:
        if chunk_id in left:
            assert api.cite(config, chunk_id).text == known[chunk_id]
        else:
            with pytest.raises(MissingError, match="purged"):
                api.cite(config, chunk_id)
    assert left
    assert left.keys() < known.keys()


@pytest.mark.parametrize("chunk_id", ["0123456789ab", "zz", "", "0123456789ab!"])
def test_what_never_was_issued_is_not_found(home: Path, tmp_path: Path, chunk_id: str) -> None:
    config = load(home)
    read(config, tmp_path, a=FIRST)
    with pytest.raises(MissingError, match="never issued"):
        api.cite(config, chunk_id)
