"""Pages of PDF: filled-in fields stand behind their labels, fonts without Unicode are told, words go on over a border."""

from __future__ import annotations

import pytest

from kgfs.errors import UnreadableTextError
from kgfs.formats.table import parse
from tests.support.office import pdf

FIELD = "<< /Type /Annot /Subtype /Widget /FT /{} /Rect [{}] {} >>".format


@pytest.mark.parametrize(
    ("page", "fields", "wanted"),
    [
        ("Name of the skipper:", [("Tx", "200 715 400 730", "/V (Greta Sample)")], "Name of the skipper: Greta Sample"),
        ("Berth:", [("Ch", "200 715 400 730", "/V (B7) /TU (a tip)")], "Berth: B7"),
        ("Insured:", [("Btn", "200 718 210 728", "/V /Yes /AS /Yes")], "Insured: ticked"),
        ("Insured:", [("Btn", "200 718 210 728", "/V /Off /AS /Off")], "Insured:"),
        ("Insured", [("Btn", "55 718 65 728", "/AS /Yes")], "[ticked] Insured"),
        ("Note:", [("Tx", "200 715 400 730", "/V (one\\ntwo)")], "Note: one two"),
        ("Word:", [("Tx", "200 715 400 730", "/V (secret) /Ff 8192")], "Word:"),
        ("From:          To:", [("Tx", "155 715 200 730", "/V (Rye)"), ("Tx", "105 715 130 730", "/V (Ely)")], "From: Ely To: Rye"),
        ("First name", [("Tx", "72 700 140 714", "/V (Ada)")], "First name Ada"),
        ("Heading", [("Tx", "300 300 400 314", "/V (far) /TU (Away)")], "Heading\n\nAway: far"),
    ],
)  # fmt: skip
def test_a_filled_in_field_stands_behind_its_label(page: str, fields: list[tuple[str, str, str]], wanted: str) -> None:
    text = parse("form.pdf", pdf(page, annotations=" ".join(FIELD(*field) for field in fields))).text
    assert " ".join(text.split(" ")).replace("  ", " ").strip() == wanted


def _without_unicode(content: bytes) -> bytes:
    """Return a PDF with a font of rectangles whose names do not say which characters they are."""
    names = "".join(f"/g{n}" for n in range(32, 127))
    glyphs = "".join(f"/g{n} 5 0 R" for n in range(33, 127))
    font = (
        "<< /Type /Font /Subtype /Type3 /FontBBox [0 0 1000 1000] /FontMatrix [.001 0 0 .001 0 0] /FirstChar 32 /LastChar 126"
        f" /Widths [{'600 ' * 95}] /CharProcs << {glyphs} >> /Resources << >>"
        f" /Encoding << /Type /Encoding /Differences [32 {names}] >> >>"
    )
    return content.replace(b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>", font.encode())


def test_a_page_whose_font_has_no_unicode_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(UnreadableTextError, match=r"fonts of 1 of 1 pages do not say .*: 1; .* apt-get install"):
        parse("a.pdf", _without_unicode(pdf("The tide turns at noon.")))


@pytest.mark.parametrize(
    ("first", "second", "wanted"),
    [
        ("The harbour takes ship-", "ping of all kinds.", ("takes shipping", "of all kinds.")),
        ("The harbour takes ship-", "ping", ("takes shipping",)),
        ("The harbour takes ship-\n1", "ping of all kinds.", ("takes shipping", "of all kinds.")),
        ("The code is A-", "Beta of all kinds.", ("code is A-", "Beta of all kinds.")),
        ("It lasted from 1990-\n1995 on.", "", ("from 1990-\n1995",)),
        ("It takes ship-\nping, and more.", "", ("takes shipping, and",)),
        ("It rains -", "of course.", ("It rains -", "of course.")),
    ],
)
def test_a_word_that_is_hyphenated_over_a_border_is_whole(first: str, second: str, wanted: tuple[str, ...]) -> None:
    text = parse("a.pdf", pdf(first, second)).text
    assert all(words in text for words in wanted), text


def test_a_word_goes_on_behind_repeated_headers() -> None:
    pages = ("The harbour takes ship-", "ping of all kinds. It closes at noo-", "ntide.")
    text = parse("a.pdf", pdf(*(f"Canal Trust\n{words}\nPage {n}" for n, words in enumerate(pages)))).text
    assert "takes shipping" in text and "at noontide." in text


def _rows(*rows: str) -> bytes:
    """Return a PDF with these rows, each drawn in one go, its cells (behind bars) at the same places."""
    page = pdf("\n".join(rows)).decode("latin-1")
    for row in rows:
        cells = row.split("|")
        shown = " ".join(f"({cell}) Tj 170 0 Td" for cell in cells)
        page = page.replace(f"({row}) Tj T*", f"{shown} {-170 * len(cells)} -14 Td")
    return page.encode("latin-1")


def test_columns_that_are_drawn_row_by_row_are_read_one_by_one() -> None:
    columns = _rows(
        "The committee met|A new dredger has", "and approved the|been ordered, and", "annual budget.|it needs a crew."
    )
    assert parse("a.pdf", columns).text == (
        "The committee met\nand approved the\nannual budget.\nA new dredger has\nbeen ordered, and\nit needs a crew.\n"
    )
    table = _rows(
        "Name of the ship|Place of the berth", "Amber Phalarope|Inner harbour", "Basalt Shearwater|Outer harbour"
    )
    assert "Amber Phalarope Inner harbour\nBasalt Shearwater Outer harbour" in parse("a.pdf", table).text
