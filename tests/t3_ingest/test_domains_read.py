"""Domains of an ontology: the verb, reading by them, and what outlives a rebuild."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kgfs.app import api
from kgfs.cli import main
from kgfs.config import Config
from kgfs.domain.documents import State
from kgfs.domain.domains import PRESETS
from kgfs.errors import BadInputError, MissingError
from kgfs.ingest.lifecycle.runs import by_other_settings
from kgfs.stores.stores import Stores
from tests.support.working import Counting, deposit, states, work

KOAN = "A koan is a question that has no answer by logic alone, and Zen uses the koan in practice.\n"


def test_domains_are_set_read_by_and_outlive_a_rebuild(
    config: Config, stores: Stores, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(*words: str) -> str:
        with pytest.raises(SystemExit) as ended:
            main([*words, "--home", str(config.home)])
        assert not ended.value.code, words
        return capsys.readouterr().out

    deposit(config, stores, tmp_path, koan=KOAN)
    work(config, stores, Counting())
    [ontology] = stores.catalog.names.ontologies()
    assert states(stores) == {State.DONE: 1}
    assert by_other_settings(stores, [ontology], 20) == []
    shown = run("ontology", "set", ontology.name, "--domain", "SEO: ranking, backlink", "--json")
    assert json.loads(shown) == {"domains": {"SEO": ["ranking", "backlink"]}}

    [ontology] = stores.catalog.names.ontologies()
    [other] = by_other_settings(stores, [ontology], 20)
    assert other.source_id.endswith("koan.txt")
    planned = []
    assert (
        api.reprocess(config, ontology.name, agree=lambda plan: not planned.append(plan), progress=print, wait=False)
        == 1
    )
    assert planned[0].paths == (f"{ontology.name}/koan.txt",)
    work(config, stores, Counting())
    assert states(stores) == {State.GATED: 1}
    assert by_other_settings(stores, [ontology], 20) == []

    run("ontology", "set", ontology.name, "--preset", "business", "--no-domain", "SaaS")
    wanted = {name: words for name, words in PRESETS["business"].items() if name != "SaaS"}
    assert api.domains(config, ontology.name) == wanted
    with pytest.raises(MissingError, match="no domain 'SaaS'"):
        api.set_domains(config, ontology.name, without=["SaaS"])
    with pytest.raises(BadInputError, match="no preset"):
        api.set_domains(config, ontology.name, preset="cooking")
    run("rebuild", "--yes")
    assert api.domains(config, ontology.name) == wanted
