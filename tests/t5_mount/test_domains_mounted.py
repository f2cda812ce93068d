"""``.kgfs/domains.toml`` of an ontology on a mount: shells, programs that copy, and what is refused."""

from __future__ import annotations

import errno
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.mounting import mounted_place
from tests.support.running import Place

pytestmark = pytest.mark.mounted


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    with mounted_place(tmp_path, "--no-worker", declared=("domains.toml",)) as found:
        yield found


@pytest.mark.logs("domains.toml")
def test_domains_are_set_by_writing_their_file(place: Place) -> None:
    ontology = place.ontology("Growth")
    file = ontology / ".kgfs" / "domains.toml"
    assert file.read_bytes() == b"[domains]\n"
    text = '[domains]\nSEO = ["ranking", "keyword"]\n'
    subprocess.run(["sh", "-c", 'printf %s "$1" > "$2"', "sh", text, file], check=True)
    assert (file.read_text(), file.stat().st_size) == (text, len(text))
    assert json.loads(place.run("ontology", "show", "Growth", "--json").stdout) == {
        "domains": {"SEO": ["ranking", "keyword"]}
    }
    with file.open("a") as appended:
        appended.write('SaaS = ["churn"]\n')
    assert file.read_text() == text + 'SaaS = ["churn"]\n'
    with pytest.raises(OSError, match="Invalid argument") as refused:
        file.write_text("[domains]\nSEO = []\n")
    assert refused.value.errno == errno.EINVAL
    assert file.read_text() == text + 'SaaS = ["churn"]\n'
    said = (place.mountpoint / ".kgfs" / "errors.ndjson").read_text()
    assert "Growth/.kgfs/domains.toml: The domain 'SEO' needs a list of keywords" in said
    place.run("ontology", "set", "Growth", "--no-domain", "SEO")
    assert file.read_text() == '[domains]\nSaaS = ["churn"]\n'
    assert ".kgfs" not in [path.name for path in ontology.iterdir()]
