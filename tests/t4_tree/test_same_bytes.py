"""The same bytes under several paths: one Document, one reading, all paths shown with its evidence."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import trio

from kgfs.domain.documents import State, Version
from kgfs.errors import GoneError
from kgfs.tree.node import ROOT_INODE, File, Folder
from kgfs.tree.vfs import Vfs, space_of
from tests.support.library import ME, Library, library_at, read

ZEN = b"Zen is a school.\nIt is old, and\nZen stays.\n"
PIECE = "Zen/concepts/zen.concept/evidence/1"


@pytest.fixture
def library(home: Path) -> Iterator[Library]:
    with library_at(home) as library:
        library.add("Zen/documents/zen.txt", ZEN, {"Zen": ["Zen is a school."]})
        yield library


def documents(library: Library, path: str = "Zen/documents") -> Folder:
    node = library.node(path)
    assert isinstance(node, Folder)
    return node


def shown(library: Library) -> tuple[list[str], int]:
    """The paths that evidence shows, and its time; source.txt and citation.json agree and are sized exactly."""
    source, citation = library.node(f"{PIECE}/source.txt"), library.node(f"{PIECE}/citation.json")
    assert isinstance(source, File) and isinstance(citation, File)
    text, cited = read(source).decode(), json.loads(read(citation))
    assert len(text.encode()) == source.attr().size
    assert len(read(citation)) == citation.attr().size
    assert text[cited["source_start"] : cited["source_end"]] == cited["quote"]
    header = [line.partition(": ") for line in text.splitlines()]
    assert [path for key, _, path in header if key in ("file", "also")] == cited["paths"]
    assert cited["document"] == cited["paths"][0]
    assert library.read(f"{PIECE}/document/") == ZEN
    return cited["paths"], source.attr().mtime


def test_paths_come_and_go_and_the_time_moves_with_each(library: Library) -> None:
    changes = [shown(library)]
    library.write("Zen/documents/b/again.txt", ZEN)
    library.settle()
    assert library.stores.catalog.jobs.owed() == 0, "nothing is read a second time"
    changes.append(shown(library))
    documents(library).move("b", documents(library), "c", replace=False)
    changes.append(shown(library))
    documents(library, "Zen/documents/c").move("again.txt", documents(library), "again.txt", replace=False)
    changes.append(shown(library))
    documents(library).remove_file("zen.txt")
    changes.append(shown(library))
    library.write("Zen/documents/zen.txt", ZEN)
    library.settle()
    changes.append(shown(library))
    documents(library).move("zen.txt", documents(library), "zen.txt~", replace=False)
    library.settle()
    changes.append(shown(library))
    one, also = "documents/zen.txt", "documents/again.txt"
    assert [paths for paths, _ in changes] == [
        [one],
        [one, "documents/b/again.txt"],
        [one, "documents/c/again.txt"],
        [one, also],
        [also],
        [also, one],
        [also],
    ]
    times = [mtime for _, mtime in changes]
    assert times == sorted(set(times)), "each change of what is shown moves the time forward"
    assert library.stores.catalog.jobs.owed() == 0


def test_another_ontology_has_a_document_of_its_own(library: Library) -> None:
    library.write("Other/documents/zen.txt", ZEN)
    library.settle()
    assert shown(library)[0] == ["documents/zen.txt"]
    first, other = library.document("Zen/documents/zen.txt"), library.document("Other/documents/zen.txt")
    assert first.doc_id != other.doc_id and first.sha256 == other.sha256
    assert (first.key.split("/")[1], other.key.split("/")[1]) == ("Zen", "Other")


def test_many_paths_are_all_in_the_citation(library: Library) -> None:
    documents(library).make_folder("many", 0o755, ME)
    for n in range(30):
        library.write(f"Zen/documents/many/{n:02}.txt", ZEN)
    library.settle()
    cited = json.loads(library.read(f"{PIECE}/citation.json"))
    assert len(cited["paths"]) == 31
    text = library.read(f"{PIECE}/source.txt")
    assert b"also: 20 more, listed in citation.json\n" in text
    assert len(text) == library.node(f"{PIECE}/source.txt").attr().size


# ------------------------------------------------------------------------------------------- successors that fail


@pytest.mark.parametrize("end", [State.UNSUPPORTED, State.FAILED])
def test_evidence_of_what_a_failed_version_replaced_stays_and_leads_to_the_old_bytes(
    library: Library, end: State
) -> None:
    library.write("Zen/documents/zen.txt", b"\x00\x01 nothing that can be read")
    library.settle()
    failed = library.document("Zen/documents/zen.txt")
    library.pipeline.fail(failed, end, "for a test")
    assert [job for job in library.stores.catalog.jobs.all() if job.kind == "forget"] == []
    source, cited = library.read(f"{PIECE}/source.txt"), json.loads(library.read(f"{PIECE}/citation.json"))
    assert (cited["stale"], cited["document"], cited["paths"]) == (True, "versions/zen.txt@/1.txt", [])
    assert source.split(b"\n")[1].startswith(b"note: stale")
    assert library.read(f"{PIECE}/document/") == ZEN
    assert library.read("Zen/documents/zen.txt") == b"\x00\x01 nothing that can be read"
    renamed = documents(library)
    renamed.move("zen.txt", renamed, "nez.txt", replace=False)
    assert library.read(f"{PIECE}/document/") == ZEN, "also under the file's new name"
    library.write("Zen/documents/nez.txt", b"Zen is here again.\n")
    library.settle()
    library.publish("Zen/documents/nez.txt", {"Zen": ["Zen is here again."]})
    assert library.names("Zen/concepts/zen.concept/evidence") == ["2"], "the next that is read takes its place"
    cited = json.loads(library.read("Zen/concepts/zen.concept/evidence/2/citation.json"))
    assert (cited["stale"], cited["document"]) == (False, "documents/nez.txt")


def test_a_version_brought_back_is_current_again_though_its_successor_failed(library: Library) -> None:
    library.write("Zen/documents/zen.txt", b"\x00 junk")
    library.settle()
    library.pipeline.fail(library.document("Zen/documents/zen.txt"), State.UNSUPPORTED, "junk")
    library.write("Zen/documents/zen.txt", library.read("Zen/versions/zen.txt@/1.txt"))
    library.settle()
    assert shown(library)[0] == ["documents/zen.txt"]
    assert library.stores.catalog.jobs.owed() == 0
    assert [version.decision for version in versions(library)] == ["insert", "update", "alias"]


def versions(library: Library) -> list[Version]:
    names = library.stores.catalog.names
    row = names.resolve(library.ontology().id, "zen.txt")
    assert row is not None
    return names.versions(row.id)


def test_what_changed_is_read_whole_though_the_kernel_was_told_another_size(library: Library) -> None:
    """Between a change and the news of it the kernel would cut what is longer now, by the size it knows."""

    async def life() -> None:
        vfs = Vfs(library.root, lambda: space_of("/"))
        inode = ROOT_INODE
        for part in f"{PIECE}/citation.json".split("/"):
            found = await vfs.lookup(inode, part.encode())
            assert found is not None
            inode = found.inode
        opened = await vfs.files.open(inode, os.O_RDONLY)
        assert not vfs.handles.file(opened).handle.direct_io
        library.write("Zen/documents/again.txt", ZEN)
        library.settle()
        with pytest.raises(GoneError):  # the kernel looks the name up again
            await vfs.files.open(inode, os.O_RDONLY)
        later = await vfs.files.open(inode, os.O_RDONLY)  # for one who cannot, with /proc/self/fd/N
        handle = vfs.handles.file(later).handle
        assert handle.direct_io and not handle.keep_cache
        assert len(json.loads(await vfs.files.read(later, 0, 100_000))["paths"]) == 2
        await vfs.files.release(opened)  # until then the inode keeps the size of the bytes that are open
        await vfs.getattr(inode)
        told = await vfs.files.open(inode, os.O_RDONLY)
        assert not vfs.handles.file(told).handle.direct_io
        for number in (later, told):
            await vfs.files.release(number)

    trio.run(life)
