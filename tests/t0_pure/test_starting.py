"""What a verb loads before it does anything: everybody waits for it each time."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

CLIENTS = (
    "minio",
    "neo4j",
    "qdrant_client",
    "ray",
    "onnxruntime",
    "spacy",
    "tiktoken",
    "numpy",
    "pyfuse3",
    "trio",
    "pydantic",
    "rich",
)
WRITERS = (
    "kgfs.stores.catalog.facts",
    "kgfs.stores.graph.commit",
    "kgfs.ingest.writing.deposit",
    "kgfs.stores.servers",
)
"""Modules that only processes that change something need: classes of facts alone take as long as the command line."""
LIBRARY = ("logging", "subprocess", "tempfile", "concurrent.futures")
READERS = {
    "search": "kgfs.app.searching",
    "status": "kgfs.app.queries kgfs.knowledge.status",
    "cite": "kgfs.app.queries kgfs.knowledge.cite",
    "history": "kgfs.app.queries kgfs.knowledge.history",
    "ask": "kgfs.app.answers",
    "wait": "kgfs.app.backlog",
}
"""The modules that these verbs import as they begin, besides their own."""


def loaded(modules: list[str], among: tuple[str, ...]) -> str:
    asked = f"import {', '.join(modules)}, sys; print([name for name in {among} if name in sys.modules])"
    told = subprocess.run([sys.executable, "-c", asked], cwd=Path(__file__).parents[2], capture_output=True, text=True)
    assert (told.returncode, told.stderr) == (0, "")
    return told.stdout.strip()


def test_a_home_on_this_machine_is_opened_without_clients_and_models() -> None:
    assert loaded(["kgfs.app.home"], CLIENTS) == "[]"


@pytest.mark.parametrize("verb", READERS)
def test_a_verb_that_reads_loads_nothing_that_writes(verb: str) -> None:
    library = LIBRARY if verb != "ask" else ()  # it reads how frequent words are from a package's data
    assert loaded([f"kgfs.cli.{verb}", *READERS[verb].split()], (*CLIENTS, *WRITERS, *library)) == "[]"


def test_help_loads_no_verb() -> None:
    assert loaded(["kgfs.cli"], (*CLIENTS, *WRITERS, *LIBRARY, "difflib", "kgfs.config", "kgfs.cli.search")) == "[]"
