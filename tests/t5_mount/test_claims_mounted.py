"""``claims/`` on a mount: the kernel sees claims come, change and go, with their exact sizes."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from kgfs.app.home import open_home
from kgfs.config import load
from kgfs.ingest.matching.publication import carry_out
from kgfs.stores.readings import load_decisions, load_reading, text_of
from tests.support.claims import Told, with_claims
from tests.support.mounting import settled
from tests.support.running import Place
from tests.support.seeing import in_time

pytestmark = pytest.mark.mounted

ZEN = "Zen is a school of Buddhism.\n\nZen grew by five percent.\n"
GREW = Told("In 2024 Zen grew by 5 %.", "Zen grew by five percent.", "Zen")
LESS = Told("Zen is small.", "nowhere", "Zen", rejected="no quote")


def claim(place: Place, told: Sequence[Told], commit_id: str) -> None:
    """Have the one document of the home make these claims, as a worker with a language model would."""
    with open_home(load(place.home)) as stores:
        objects = stores.garage.objects
        [row] = stores.graph.documents(stores.catalog.names.ontologies()[0].id)
        document = stores.catalog.names.document(row.doc_id)
        assert document is not None
        reading = load_reading(objects, row.doc_id, document.reading)
        decisions = replace(load_decisions(objects, document.decisions), carried_out_as=commit_id)
        text = text_of(objects, document, reading)
        reading = with_claims(objects, reading, text, told, {})
        at = time.time_ns()
        carry_out(stores.graph, document, reading, decisions, text=text, content_version=1, supersedes=(), at=at)


def test_claims_come_change_and_go(place: Place) -> None:
    ontology = place.ontology("Zen")
    (ontology / "zen.txt").write_text(ZEN)
    settled(place)
    place.run("worker", "--until-idle")
    in_time((ontology / "concepts/zen.concept").exists)
    assert not (ontology / "claims").exists()
    claim(place, [GREW, LESS], "first")
    in_time((ontology / "claims/metric").is_dir)
    [file] = (ontology / "claims/metric").iterdir()
    page = file.read_bytes()
    assert file.stat().st_size == len(page) and b"> Zen grew by five percent." in page and b"documents/zen.txt" in page
    in_claims = ontology / "claims"
    listed = subprocess.run(
        ["find", in_claims, "-type", "f", "-size", "+0"], capture_output=True, text=True, check=True
    )
    assert len(listed.stdout.splitlines()) == 3
    for path in map(Path, listed.stdout.splitlines()):
        assert path.stat().st_size == len(path.read_bytes())
    assert all((file.parent / link).resolve().exists() for link in links(page.decode()))
    (ontology / "documents/zen.txt").rename(ontology / "documents/other.txt")
    in_time(lambda: b"documents/other.txt" in file.read_bytes())
    claim(place, [replace(GREW, claim="Zen gained 5 % in 2024.")], "second")
    in_time(lambda: [path.name[:4] for path in (in_claims / "metric").iterdir()] == ["zen-"] and not file.exists())
    assert (in_claims / "rejected.ndjson").read_bytes() == b""
    claim(place, [], "third")
    in_time(lambda: not in_claims.exists() and "claims" not in [path.name for path in ontology.iterdir()])


def links(page: str) -> list[str]:
    return [part.partition(")")[0] for part in page.split("](")[1:]]
