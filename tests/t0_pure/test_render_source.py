"""source.txt and citation.json: positions and sizes for any text, quote, path, note and marks."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgfs.render import citation, source
from kgfs.render.citation import Citation
from kgfs.render.source import REMOVED, STALE, Excerpt, Marks, Origin
from kgfs.render.words import visible

TEXT = "Words pointed at it.\nA finger. Zen is not the finger\nbut the moon. Nobody laughed.\n"
HARD = st.sampled_from(
    ["==", "=", "\r\n", "\r", "\n", "\f", "\t", "e\u0301", "𝒳", "\ufeff", "\u2028", "\x85", "\x1b", "\x7f", "|", "> "]
)
TEXTS = st.lists(st.one_of(HARD, st.text(max_size=8)), min_size=1, max_size=20).map("".join).filter(bool)
PATHS = st.text(st.characters(exclude_categories=("Cc", "Cs")), max_size=300)
ORIGINS = st.builds(Origin, PATHS, st.sampled_from(["", STALE, REMOVED]), st.lists(PATHS, max_size=3).map(tuple))
MARKS = st.builds(Marks, st.sampled_from(["==", "", "«", "<mark>"]), st.sampled_from(["==", "", "»", "</mark>"]))


@st.composite
def excerpts(draw: st.DrawFn) -> Excerpt:
    text = draw(TEXTS)
    a = draw(st.integers(0, len(text) - 1))
    b = draw(st.integers(a + 1, len(text)))
    start, line = draw(st.integers(0, 10**6)), draw(st.integers(1, 10**6))
    sections = tuple(draw(st.lists(st.text(max_size=5), max_size=2)))
    return Excerpt(text, start, line, start + a, start + b, sections, draw(st.none() | st.integers(1, 99)))


def excerpt_of(text: str, quote: str) -> Excerpt:
    start = text.index(quote)
    return Excerpt(text, 0, 1, start, start + len(quote))


def test_a_source_shows_header_gutter_and_marks() -> None:
    excerpt = Excerpt(TEXT, 100, 9, 131, 166, ("Zen", "Direct\nexperience"), 3)
    assert source.render(excerpt, Origin("documents/zen.txt", STALE), Marks()).decode() == (
        "file: documents/zen.txt\n"
        f"note: {STALE}\n"
        "lines: 10-11\n"
        "characters: 131:166\n"
        "page: 3\n"
        "section: Zen > Direct experience\n"
        "\n"
        "   9 | Words pointed at it.\n"
        "> 10 | A finger. ==Zen is not the finger==\n"
        "> 11 | ==but the moon.== Nobody laughed.\n"
    )


def test_a_source_names_the_other_paths_and_says_where_the_rest_stands() -> None:
    excerpt = excerpt_of(TEXT, "A finger.")
    others = tuple(f"documents/{n}.txt" for n in range(13))
    shown = source.render(excerpt, Origin("documents/zen.txt", others=others), Marks()).decode()
    header = shown.partition("line: ")[0].splitlines()
    assert header == [
        "file: documents/zen.txt",
        *(f"also: documents/{n}.txt" for n in range(10)),
        "also: 3 more, listed in citation.json",
    ]
    assert "more" not in source.render(excerpt, Origin("x", others=others[:10]), Marks()).decode()


def test_one_line_is_called_a_line() -> None:
    shown = source.render(excerpt_of(TEXT, "A finger."), Origin("x"), Marks()).decode()
    assert "\nline: 2\ncharacters: 21:30\n" in shown


def test_marks_stand_before_a_carriage_return_so_that_a_terminal_shows_them_in_place() -> None:
    shown = source.render(excerpt_of("one\r\ntwo\r\n", "one\r\ntwo"), Origin("x"), Marks()).decode()
    assert shown.endswith("> 1 | ==one==\r\n> 2 | ==two==\r\n")


@settings(max_examples=600, deadline=None)
@given(excerpts(), ORIGINS, MARKS)
def test_spans_joined_are_the_quote_and_sizes_are_exact(excerpt: Excerpt, origin: Origin, marks: Marks) -> None:
    raw = source.render(excerpt, origin, marks)
    shown = raw.decode("utf-8", "surrogatepass")
    spans = source.spans(excerpt, origin, marks)
    assert "".join(shown[a:b] for a, b in spans) == visible(excerpt.quote)
    assert all(a < b for a, b in spans)
    assert all(first[1] < second[0] for first, second in pairwise(spans))
    assert len(raw) == source.size(source.base_size(excerpt), excerpt.quote, origin, marks)


@settings(max_examples=300, deadline=None)
@given(excerpts())
def test_without_gutter_and_marks_the_text_is_shown_exactly(excerpt: Excerpt) -> None:
    shown = source.render(excerpt, Origin("p"), Marks("", "")).decode("utf-8", "surrogatepass")
    body = shown[shown.index("\n\n") + 2 :]
    lines = body.split("\n")[:-1]
    assert "\n".join(line.partition(" | ")[2] for line in lines) == visible(excerpt.text.removesuffix("\n"))
    first = excerpt.line + excerpt.text[: excerpt.quote_start - excerpt.start].count("\n")
    last = first + excerpt.quote[:-1].count("\n")
    quoted = [int(line[2:].partition("|")[0]) for line in lines if line.startswith(">")]
    assert quoted == list(range(first, last + 1))


@settings(max_examples=200, deadline=None)
@given(excerpts(), ORIGINS)
def test_positions_shift_with_the_header(excerpt: Excerpt, origin: Origin) -> None:
    bare = source.spans(excerpt, Origin(""), Marks())
    by = len(origin.path) + (len(f"note: {origin.note}\n") if origin.note else 0)
    by += sum(len(f"also: {path}\n") for path in origin.others)
    assert source.spans(excerpt, origin, Marks()) == tuple((start + by, end + by) for start, end in bare)


def citation_of(excerpt: Excerpt, origin: Origin, marks: Marks) -> Citation:
    return Citation(
        document=origin.path,
        paths=(origin.path, *origin.others),
        ontology="Philosophy",
        concept="zen",
        content_hash="ab" * 32,
        key="sources/Philosophy/abababababababababababababababab.txt",
        doc_id="0123456789abcdef",
        chunk_id="0123456789ab",
        text_sha256="cd" * 32,
        quote=excerpt.quote,
        char_start=excerpt.quote_start,
        char_end=excerpt.quote_end,
        byte_start=0,
        byte_end=len(excerpt.quote.encode("utf-8", "surrogatepass")),
        line_start=1,
        line_end=1,
        page=excerpt.page,
        locator={"page": excerpt.page} if excerpt.page else {},
        section_path=excerpt.section_path,
        stale=origin.note == STALE,
        removed=origin.note == REMOVED,
        spans=source.spans(excerpt, origin, marks),
    )


@settings(max_examples=300, deadline=None)
@given(excerpts(), ORIGINS, MARKS)
def test_a_citation_leads_to_the_quote(excerpt: Excerpt, origin: Origin, marks: Marks) -> None:
    cited = citation_of(excerpt, origin, marks)
    raw = citation.render(cited)
    fields = json.loads(raw)
    assert raw.endswith(b"\n}\n") and raw.startswith(b'{\n  "document": ')
    shown = source.render(excerpt, origin, marks).decode("utf-8", "surrogatepass")
    spans = fields["source_spans"] if "source_spans" in fields else [[fields["source_start"], fields["source_end"]]]
    assert "".join(shown[a:b] for a, b in spans) == visible(fields["quote"])
    assert fields["quote"] == excerpt.quote
    assert ("source_spans" in fields) is (len(cited.spans) > 1)
    assert (fields["document"], fields["stale"]) == (origin.path, origin.note == STALE)
    assert fields["section_path"] == list(excerpt.section_path) and fields["page"] == excerpt.page


@pytest.mark.parametrize("note", ["", STALE])
def test_a_citation_has_the_stated_fields_in_order(note: str) -> None:
    fields = json.loads(
        citation.render(citation_of(excerpt_of(TEXT, "moon"), Origin("documents/zen.txt", note), Marks()))
    )
    assert list(fields) == [
        "document", "paths", "ontology", "concept", "content_hash", "key", "doc_id", "chunk_id", "text_sha256", "quote",
        "char_start", "char_end", "byte_start", "byte_end", "line_start", "line_end", "page", "locator", "section_path",
        "stale", "removed", "source_start", "source_end",
    ]  # fmt: skip
