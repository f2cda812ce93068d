"""Where few concepts are looked for in an earlier document: what is found there is what is found in all of it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kgfs.domain.forms import known_among, places_of, plurals
from kgfs.domain.text import Chunk, Verdict
from kgfs.ingest.matching.earlier import near

WORDS = st.sampled_from(["oak", "oaks", "beam", "oak-beam", "sluice", "gate", "gates", "zazen", "x"])
GAPS = st.sampled_from([" ", " ", " ", "\n", "  \n", "-\n", "\n\n", ", "])
FORMS = st.sets(st.sampled_from(["oak", "oak beam", "sluice gate", "beam sluice gate", "zazen x oak"]), min_size=1)


@given(st.lists(st.tuples(WORDS, GAPS), min_size=1, max_size=60), st.data(), FORMS)
def test_the_sources_that_have_a_form_and_their_borders_have_all_its_places(
    pieces: list[tuple[str, str]], data: st.DataObject, forms: set[str]
) -> None:
    text = "".join(word + gap for word, gap in pieces)
    borders = [0]
    for word, gap in pieces:
        borders.append(borders[-1] + len(word + gap))
    inner = sorted(data.draw(st.sets(st.sampled_from(borders[1:-1]), max_size=8))) if borders[1:-1] else []
    spans = list(zip([0, *inner], [*inner, len(text)], strict=True))
    chunks = [Chunk(n, start, end, 1, 1, 0, 0, (), 1, start) for n, (start, end) in enumerate(spans)]
    verdicts = [Verdict(True) for _ in chunks]
    known = known_among({form: form for form in forms})
    phrases = known_among({each: each for form in forms for each in plurals(form)})
    hits = [n for n, span in enumerate(spans) if places_of(text, [span], phrases)]
    found = places_of(text, near(text, chunks, verdicts, hits), known)
    whole = places_of(text, [(0, len(text))], known)
    assert {name: [*spans] for name, spans in found.items()} == {name: [*spans] for name, spans in whole.items()}
