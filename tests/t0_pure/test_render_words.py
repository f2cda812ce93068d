"""Control characters of documents in rendered files.

Names of derived entries: never too long, ids found again, any bytes.
"""

from __future__ import annotations

import json
import unicodedata
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgfs.domain.markup import words_shown
from kgfs.domain.names import MAX_NAME_BYTES, decode_name, encode_name
from kgfs.render.names import history_folder, id_in, with_id, with_suffix
from kgfs.render.words import (
    day_of,
    fold,
    folded_size,
    instant_of,
    json_lines,
    json_page,
    rendered,
    time_of,
    visible,
    yaml_word,
)

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


NAMES = (
    st.one_of(st.binary(min_size=1, max_size=255), st.text("aé𝒳%~.", min_size=1, max_size=80).map(str.encode))
    .filter(lambda raw: b"/" not in raw and b"\0" not in raw and len(raw) <= 255)
    .map(encode_name)
)
IDS = st.integers(1, (1 << 62) - 1)
SUFFIXES = st.sampled_from(["", "@", ".md"])


@settings(max_examples=400, deadline=None)
@given(NAMES, IDS, SUFFIXES)
def test_a_name_with_an_id_fits_and_gives_the_id_back(name: str, name_id: int, suffix: str) -> None:
    made = with_id(name, name_id, suffix)
    assert len(decode_name(made)) <= MAX_NAME_BYTES
    assert made.endswith(suffix) and id_in(made, suffix) == name_id
    assert encode_name(decode_name(made)) == made, "it is how the kernel will ask for it"


@settings(max_examples=400, deadline=None)
@given(NAMES, IDS, SUFFIXES)
def test_a_suffix_is_added_where_there_is_room(name: str, name_id: int, suffix: str) -> None:
    made = with_suffix(name, suffix)
    assert (made is None) is (len(decode_name(name)) + len(suffix) > MAX_NAME_BYTES)
    assert made in (None, name + suffix)
    assert history_folder(name, name_id) == (with_suffix(name, "@") or with_id(name, name_id, "@"))


def test_what_carries_no_id_gives_none() -> None:
    for name in ("plain.md", "x~.md", "x~zz.md", "x~12", "~"):
        assert id_in(name, ".md") is None, name


@pytest.mark.parametrize(
    ("quote", "shown"),
    [
        ("[[Prior odds|Priors]] are *simple* to [compute](https://a.b/c_(d)).", "Priors are simple to compute."),
        ("See [[Zen#top]], ![a pool](pool.png) and ![](frog.png).", "See Zen#top, a pool and ."),
        ("[**Open** the [old] door](door.md) ***now***", "Open the [old] door now"),
        ("`a*b*c` and __init__ of snake_case_name, __very__ _well_ 2 * 3 * 4", "`a*b*c` and __init__ of snake_case_name, __very__ well 2 * 3 * 4"),
        (":ref:`The words <aim>` of :pep:`380`, `there <https://a.b>`_", "The words of 380, there"),
        ("## Leave\n\n> Ten **days**\n> off, <https://a_b.c/_d_>", "Leave\n\nTen days\noff, <https://a_b.c/_d_>"),
        ("**Unless it is said, O(N**2) is slow.", "Unless it is said, O(N**2) is slow."),
        ("**kwargs are what is left.**", "kwargs are what is left."),
        ("**kwargs are what is left of f(*args)", "**kwargs are what is left of f(*args)"),
        ("C# and #tag, [x] done, [link][ref], 5 > 3", "C# and #tag, [x] done, [link][ref], 5 > 3"),
    ],
)  # fmt: skip
def test_a_quote_is_shown_as_the_words_that_a_reader_sees(quote: str, shown: str) -> None:
    assert words_shown(quote) == shown


@settings(max_examples=300, deadline=None)
@given(st.text("[]()*_`!|#<> :\n-ab", max_size=60))
def test_words_without_markup_are_no_longer_than_the_quote(quote: str) -> None:
    """So the size of a line tells which of the two it has."""
    shown = words_shown(quote)
    assert shown == quote or len(shown) < len(quote)


@given(st.integers(0, 2**63 - 1))
def test_times_are_iso_8601_in_utc(nanoseconds: int) -> None:
    exact = datetime.fromisoformat(instant_of(nanoseconds))
    assert exact.utcoffset() == timedelta(0)
    assert (exact - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1) == nanoseconds // 10**6
    assert time_of(nanoseconds) == f"{exact:%Y-%m-%dT%H:%M:%S}Z" and day_of(nanoseconds) == f"{exact:%Y-%m-%d}"
