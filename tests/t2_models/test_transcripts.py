"""Plain transcripts, a turn a line: the turns are read, and their speakers are no concepts."""

from __future__ import annotations

import pytest

from kgfs.domain.text import Chunk
from kgfs.ingest.reading.rank import rank
from kgfs.ingest.reading.validate import validate
from kgfs.models.contract import Passage
from kgfs.models.extractor.grammar import GrammarExtractor
from kgfs.models.extractor.speakers import speakers_told

TURNS = (
    ("Ada Lovelace", "The tide table for spring is late again. The printing office has a broken press."),
    ("Grace Hopper", "The tide table fits a phone. Ada can print the tide table at home."),
    ("Ada Lovelace", "The pilot boat needs a new engine. The engine was ordered from Kiel in March."),
    ("Linus", "A heavier engine changes the trim of the pilot boat. The pilot boat is small."),
    ("Grace Hopper", "Ballast corrects the trim of a boat. Linus knows ballast."),
    ("Linus", "Ballast is cheap. The engine is too heavy, as Grace knows."),
    ("Ada Lovelace", "The printing office prints the tide table. Linus agrees with Grace."),
    ("Linus", "The tide table lists moon phases."),
    ("Grace Hopper", "Ballast makes a boat heavy."),
)


@pytest.mark.models
@pytest.mark.parametrize(
    "line", ["{0}: {1}\n", "[12:03] {0}: {1}\n", "{0}: {1}\n\n", "- {0}: {1}\n", "* {0} - {1}\n\n"]
)
def test_turns_are_read_and_speakers_are_no_concepts(line: str, grammar_extractor: GrammarExtractor) -> None:
    handles = {"Ada Lovelace": "ada", "Grace Hopper": "grace", "Linus": "linus"} if line[0] in "-*" else {}
    text = "".join(line.format(handles.get(name, name), said) for name, said in TURNS)
    [raw] = grammar_extractor.extract([Passage("Harbour", (), text, speakers=speakers_told(text))])
    chunk = Chunk(0, 0, len(text), 1, 1, 0, len(text), (), 200, 0)
    concepts, _ = rank("Harbour", [chunk], [validate(grammar_extractor.parse(raw), text, chunk)], 40)
    said = {one.label.casefold(): [text[quote.start : quote.end] for quote in one.quotes] for one in concepts}
    assert {"tide table", "pilot boat", "ballast"} <= set(said)
    assert "Ballast corrects the trim of a boat." in said["ballast"]
    assert not {"ada", "grace", "linus", "lovelace", "hopper", "ada lovelace", "grace hopper"} & set(said)
