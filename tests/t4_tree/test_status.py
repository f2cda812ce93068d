"""``.kgfs/status.json``: rendered wherever ``.kgfs/`` is listed, so it is as quick with thousands of conflicts as with one."""

from __future__ import annotations

import json
from pathlib import Path

from kgfs.knowledge.status import status
from kgfs.stores.catalog.facts import ConflictKept
from kgfs.tree.status import NAMED
from tests.support.library import library_at

FILES, EACH = 30, 3
QUERIES = 120
"""Of a home with one ontology, whatever the number of conflicts."""


def test_many_conflicts_take_no_more_queries_than_few(home: Path) -> None:
    with library_at(home) as library:
        catalog = library.stores.catalog
        ontology = library.ontology()
        for n in range(FILES):
            library.write(f"Zen/documents/{n:02}.txt", b"what the other wrote %d" % n)
        library.settle()
        for again in range(EACH):
            for n in range(FILES):
                row = catalog.names.resolve(ontology.id, f"{n:02}.txt")
                assert row is not None
                at = 10**9 * (again * FILES + n + 1)
                catalog.record(ConflictKept(row.id, f"sha-{n}-{again}", 4, f"inbox/{n}-{again}", "p", "overtaken", at))
        asked: list[str] = []
        catalog._readers.mine().set_trace_callback(asked.append)
        shown = json.loads(library.read(".kgfs/status.json"))
        catalog._readers.mine().set_trace_callback(None)
        assert shown["conflicts"] == FILES * EACH
        newest = [f"Zen/{n:02}.txt" for n in range(FILES - NAMED, FILES)]
        assert shown["conflict_paths"] == newest
        assert len(asked) < QUERIES
        paths = status(library.context.config, library.stores)["conflict_paths"]
        assert paths == [f"Zen/{n:02}.txt" for n in range(FILES)]
