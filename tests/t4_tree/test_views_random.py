"""Whatever is done to documents, in whatever order: sizes stay exact, quotes exact, links alive, names unique."""

from __future__ import annotations

import json
import posixpath
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kgfs.domain.names import encode_name
from kgfs.errors import KgfsError
from kgfs.render.words import visible
from kgfs.tree.node import File, Folder, Link
from tests.support.library import ME, Library, library_at, read

NAMES = st.sampled_from(["a", "a.md", "a@", "b.txt", "b.txt.md", "ü.rst", "n" * 255, "%FF%0A", "d"])
FOLDERS = st.sampled_from(["Zen/documents", "Zen/documents/d", "Zen/documents/a@", "Zen"])
WORDS = st.sampled_from(
    ["Zen == one\r\n", "\ufeffA koan.\n", "Title\n=====\n\n𝒳 é\n", "line\n" * 30, "x", "# Head\n\ntext\f\n"]
)
CONTENTS = st.lists(WORDS, min_size=1, max_size=4).map("".join)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), FOLDERS, NAMES, CONTENTS),
        st.tuples(st.just("mkdir"), FOLDERS, NAMES),
        st.tuples(st.just("move"), FOLDERS, NAMES, FOLDERS, NAMES),
        st.tuples(st.just("remove"), FOLDERS, NAMES),
        st.tuples(st.just("settle")),
        st.tuples(st.just("publish"), st.integers(0, 100), st.integers(0, 100)),
        st.tuples(st.just("forget")),
    ),
    min_size=4,
    max_size=14,
)


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(STEPS)
def test_the_tree_holds_its_promises(steps: list[tuple[object, ...]]) -> None:
    with tempfile.TemporaryDirectory() as place, library_at(Path(place) / "home") as library:
        library.ontology()
        for step in steps:
            try:
                take(library, *step)
            except KgfsError:
                continue  # not allowed as things stand; the promises hold all the same
        library.settle()
        publish_all(library)
        files = [path for path, node in library.walk("Zen/documents") if isinstance(node, File)]
        for path in files[:1]:
            library.write(path, b"newer, and not read yet\n")
        for path in files[1:2]:
            folder(library, posixpath.dirname(path)).remove_file(posixpath.basename(path))
        library.settle()
        keeps_its_promises(library)


def take(library: Library, what: object, *given: object) -> None:
    if what == "write":
        parent, name, content = given
        library.write(f"{parent}/{name}", str(content).encode())
    elif what == "mkdir":
        folder(library, given[0]).make_folder(str(given[1]), 0o755, ME)
    elif what == "move":
        folder(library, given[0]).move(str(given[1]), folder(library, given[2]), str(given[3]), replace=True)
    elif what == "remove":
        folder(library, given[0]).remove_file(str(given[1]))
    elif what == "settle":
        library.settle()
    elif what == "publish":
        publish_all(library, *map(int, map(str, given)))
    elif what == "forget":
        for job in library.stores.catalog.jobs.all():
            document = library.stores.catalog.names.document(job.doc_id)
            if job.kind == "forget" and document:
                library.pipeline.forget(document, f"forget-{job.doc_id}-{job.deposit}")


def folder(library: Library, path: object) -> Folder:
    node = library.find(str(path))
    if not isinstance(node, Folder):
        node = folder(library, posixpath.dirname(str(path)))
    return node


def publish_all(library: Library, start: int = 0, length: int = 100) -> None:
    names = library.stores.catalog.names
    for job in library.stores.catalog.jobs.all():
        live = names.names_of(job.doc_id)
        if job.kind == "read" and live:
            path = names.path(live[0].id)
            text = library.stores.garage.objects.get(live[0].key).decode()
            a = start % len(text)
            quote = text[a : a + 1 + length]
            library.publish(
                f"Zen/documents/{path}", {"one": [quote], "two": [text[-3:]]}, [("one", "USES", "two", quote)]
            )


def keeps_its_promises(library: Library) -> None:
    inodes: set[int] = set()
    for path, node in library.walk("Zen"):
        attr = node.attr()
        assert attr.inode not in inodes, path
        inodes.add(attr.inode)
        assert len(path.rpartition("/")[2].encode()) <= 3 * 255
        found = library.find(path)
        if isinstance(node, File):
            assert found is not None and found.attr() == attr, path
            assert len(read(node)) == attr.size, path
        elif isinstance(node, Link):
            goal = posixpath.join(posixpath.dirname(path), encode_name(node.target()))
            assert isinstance(library.find(posixpath.normpath(goal)), File), f"{path} -> {goal}"
        if path.endswith("/citation.json"):
            cited = json.loads(library.read(path))
            shown = library.read(path.replace("citation.json", "source.txt")).decode()
            spans = cited.get("source_spans") or [[cited["source_start"], cited["source_end"]]]
            assert "".join(shown[a:b] for a, b in spans) == visible(cited["quote"])
            text = library.read(f"Zen/archive/{cited['doc_id']}/text.txt").decode()
            assert text[cited["char_start"] : cited["char_end"]] == cited["quote"]
