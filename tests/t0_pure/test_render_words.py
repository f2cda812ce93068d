"""Control characters of documents in rendered files."""

from __future__ import annotations

import json
import unicodedata

from hypothesis import given, settings
from hypothesis import strategies as st

from kgfs.render.words import fold, folded_size, json_lines, json_page, rendered, visible, yaml_word

CONTROLS = st.sampled_from([chr(code) for code in (*range(0x20), *range(0x7F, 0xA0))])
TEXTS = st.lists(CONTROLS | st.text(max_size=4), max_size=20).map("".join)
KEPT = "\t\n\r"


def controls_in(shown: str) -> set[str]:
    return {char for char in shown if unicodedata.category(char) == "Cc"}


def test_each_control_character_has_its_one_character() -> None:
    assert visible("a\x00\x1b\x1f\x7f\x80\x9fz") == "a␀␛␟␡\ufffd\ufffdz"
    assert visible("\t\r\n é 𝒳 \u2028\ufeff") == "\t\r\n é 𝒳 \u2028\ufeff"


@settings(max_examples=500, deadline=None)
@given(TEXTS)
def test_positions_stay_and_no_control_character_is_left(text: str) -> None:
    shown = visible(text)
    assert len(shown) == len(text)
    assert controls_in(shown) <= set(KEPT)
    assert all(a == b or a in controls_in(text) - set(KEPT) for a, b in zip(text, shown, strict=True))
    assert rendered(text) == shown.encode("utf-8", "surrogatepass")


@settings(max_examples=500, deadline=None)
@given(TEXTS)
def test_no_form_of_words_has_a_control_character(text: str) -> None:
    assert not controls_in(fold(text))
    assert folded_size(text) == len(fold(text).encode("utf-8", "surrogatepass"))
    assert not controls_in(yaml_word(text))
    for page in (json_lines({"quote": text, "paths": [text]}), json_page({"text": text})):
        assert controls_in(page.decode()) == {"\n"}


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=12,
)


@settings(max_examples=300, deadline=None)
@given(VALUES)
def test_a_page_of_json_is_what_the_standard_encoder_writes(value: object) -> None:
    assert json.loads(json_page(value)) == value
    plain = json.dumps(value, indent=2, ensure_ascii=False)
    if not controls_in(plain) - {"\n"}:
        assert json_page(value).decode() == f"{plain}\n"
