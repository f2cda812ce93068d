"""The gate's verdicts on labelled blocks, with the grammar."""

from __future__ import annotations

import json
from pathlib import Path

from kgfs.ingest.reading.gate import judge_block
from kgfs.ingest.reading.stages import _verbs_of_english
from kgfs.models.grammar import English

LABELLED = json.loads((Path(__file__).parent.parent / "data/gate.json").read_text())


def test_labelled_blocks_get_their_first_reason() -> None:
    verbs = _verbs_of_english(English().has_verb)
    wrong = [
        block
        for block in LABELLED["blocks"]
        if judge_block(block["text"], verbs=verbs, domains=LABELLED["domains"]) != block["verdict"]
    ]
    assert len(LABELLED["blocks"]) == 120
    assert len(wrong) <= 2, wrong
