"""Formats that are parsed in a process of their own: their Text, structure and locators, and what goes wrong."""

from __future__ import annotations

import base64
import json
import os
import signal
import time
from pathlib import Path

import pytest

from kgfs.domain.places import locate
from kgfs.domain.text import Text
from kgfs.errors import LostLeaseError, ParserFailedError, UnreadableTextError
from kgfs.formats import recognition
from kgfs.formats.delimited import row_places
from kgfs.formats.html import decoded
from kgfs.formats.isolated import network_barrier
from kgfs.formats.sandbox import Limits
from kgfs.formats.table import parse
from tests.support.office import archive, docx, page_image, pdf, png, pptx, scan, shape, tiff, xlsx
from tests.support.required import missing


def where(text: Text, words: str) -> dict[str, str | int]:
    return locate(text.text, text.places, text.text.index(words))


def kinds(text: Text) -> list[str]:
    return [block.kind for block in text.blocks]


def covered(text: Text) -> None:
    """Blocks are in order, do not overlap, and with the white space between them are the Text."""
    at = 0
    for block in text.blocks:
        assert block.start >= at and not text.text[at : block.start].strip() and block.end > block.start
        at = block.end
    assert not text.text[at:].strip() and text.text.encode()  # no half of a surrogate pair


def paragraph(words: str, properties: str = "") -> str:
    return f"<w:p><w:pPr>{properties}</w:pPr><w:r><w:t>{words}</w:t></w:r></w:p>"


def test_a_pdf_has_pages_and_its_running_header_is_furniture() -> None:
    pages = [
        f"Harbour report\nThe pilot {words} the ship.\nPage {n}" for n, words in enumerate(("saw", "led", "left"), 1)
    ]
    text = parse("lying.txt", pdf(*pages, ""))
    covered(text)
    assert (text.parser, text.pages, text.encoding) == ("pdf/4", 4, "")
    assert text.note == "no text was found on 1 of 4 pages: 4"
    assert where(text, "led the ship") == {"page": 2} and where(text, "left") == {"page": 3}
    furniture = {text.text[block.start : block.end] for block in text.blocks if block.kind == "furniture"}
    assert furniture == {"Harbour report", "Page 1", "Page 2", "Page 3"}
    assert parse("lying.pdf", b"The tide turns at noon.\n").text == "The tide turns at noon.\n"


def test_word_documents_show_their_automatic_numbers() -> None:
    levels = "".join(
        f'<w:lvl w:ilvl="{n}"><w:start w:val="1"/><w:numFmt w:val="{format_}"/><w:lvlText w:val="{shown}"/></w:lvl>'
        for n, (format_, shown) in enumerate((("decimal", "%1."), ("lowerLetter", "%1.%2)")))
    )
    numbering = (
        f'<w:numbering NAMES><w:abstractNum w:abstractNumId="7">{levels}</w:abstractNum>'
        '<w:num w:numId="1"><w:abstractNumId w:val="7"/></w:num></w:numbering>'
    )
    styles = '<w:styles NAMES><w:style w:styleId="H"><w:name w:val="heading 2"/></w:style></w:styles>'
    notes = f'<w:footnotes NAMES><w:footnote w:id="2">{paragraph("A note below.")}</w:footnote></w:footnotes>'
    listed = '<w:numPr><w:ilvl w:val="{}"/><w:numId w:val="1"/></w:numPr>'
    cell = "<w:tc>{}</w:tc>"
    rows = "".join(
        f"<w:tr>{cell.format(paragraph(a))}{cell.format(paragraph(b))}</w:tr>"
        for a, b in (("Berth", "Depth"), ("A|1", "9 m"))
    )
    body = (
        paragraph("The quay", '<w:pStyle w:val="H"/>')
        + paragraph("First", listed.format(0))
        + paragraph("Inner", listed.format(1))
        + paragraph("Second", listed.format(0))
        + f"<w:tbl>{rows}</w:tbl>"
        + '<w:p><w:r><w:t xml:space="preserve">See </w:t></w:r><w:hyperlink r:id="r9"><w:r><w:t>the chart</w:t></w:r></w:hyperlink>'
        '<w:r><w:t xml:space="preserve"> first.</w:t><w:footnoteReference w:id="2"/></w:r><w:del><w:r><w:delText>gone</w:delText></w:r></w:del></w:p>'
    )
    text = parse(
        "a.docx",
        docx(
            body,
            {"numbering.xml": numbering, "styles.xml": styles, "footnotes.xml": notes},
            r1=("numbering", "numbering.xml"),
            r2=("styles", "styles.xml"),
            r3=("footnotes", "footnotes.xml"),
            r9=("hyperlink", "https://example.org/chart"),
        ),
    )
    covered(text)
    assert text.text == (
        "## The quay\n\n1. First\n\n  1.a) Inner\n\n2. Second\n\n| Berth | Depth |\n| --- | --- |\n| A\\|1 | 9 m |\n\n"
        "See the chart first.[^1]\n\n[^1]: A note below.\n\nLinks:\n- the chart: https://example.org/chart\n"
    )
    assert kinds(text) == ["heading", "list", "list", "list", "table", "paragraph", "paragraph", "furniture"]


def test_a_sheet_keeps_numbers_as_stored_and_every_cell_has_its_place() -> None:
    rows = (
        '<row r="2"><c r="B2" t="s"><v>0</v></c><c r="C2"><v>1.0</v></c></row>'
        '<row r="3"><c r="B3"><v>0.10000000000000001</v></c><c r="C3" s="1"><v>45292</v></c></row>'
        '<row r="9"><c r="C9" t="b"><v>1</v></c><c r="D9"><f>SUM(B2)</f></c><c r="E9" s="1"><v>45292.5</v></c>'
        '<c r="F9" s="2"><v>45292.75</v></c><c r="G9" s="3"><v>1.5</v></c></row>'
    )
    text = parse(
        "a.xlsx",
        xlsx(
            rows,
            "<si><t>Name | of</t></si>",
            '<xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="20"/><xf numFmtId="46"/>',
        ),
    )
    covered(text)
    assert "Name \\| of | 1 |" in text.text and "| 0.1 | 2024-01-01 |" in text.text
    assert where(text, "2024-01-01") == {"sheet": "Data", "row": 3, "column": 3}
    assert where(text, "0.1") == {"sheet": "Data", "row": 3, "column": 2}
    assert where(text, "Name") == {"sheet": "Data", "row": 2, "column": 2}
    assert where(text, "TRUE") == {"sheet": "Data", "row": 9, "column": 3}
    assert where(text, "=SUM(B2)") == {"sheet": "Data", "row": 9, "column": 4}
    assert where(text, "2024-01-01T12:00:00") == {"sheet": "Data", "row": 9, "column": 5}  # which its format hides
    assert where(text, "2024-01-01T18:00:00") == {"sheet": "Data", "row": 9, "column": 6}
    assert where(text, "36:00:00") == {"sheet": "Data", "row": 9, "column": 7}  # hours that passed


@pytest.mark.parametrize("damaged", ["7x", "²", "9" * 5000])
def test_numbers_that_are_none_cost_no_sheet(damaged: str) -> None:
    """``²`` is a digit to Python and no number, and numbers of thousands of digits are refused by it."""
    rows = f'<row r="{damaged}"><c r="A{damaged}" s="{damaged}"><v>4</v></c><c t="s"><v>{damaged}</v></c><c><v>oak</v></c></row>'
    text = parse("a.xlsx", xlsx(rows, styles=f'<xf numFmtId="{damaged}"/>'))
    assert where(text, "4") == {"sheet": "Data", "row": 1, "column": 1} and "oak" in text.text


def test_slides_have_their_numbers() -> None:
    text = parse(
        "a.pptx",
        pptx(shape("Ports", "title") + shape("One\nTwo"), shape("潮の満ち引き", "title") + shape("7", "sldNum")),
    )
    covered(text)
    assert text.text == "## Ports\n\n- One\n- Two\n\n## 潮の満ち引き\n\n7\n" and text.pages == 2
    strict = shape("Ports", "title"), shape("One")  # the ISO standard's namespaces, which Office can write, too
    assert parse("a.pptx", pptx(*strict, strict=True)).text == "## Ports\n\nOne\n"
    assert where(text, "Two") == {"slide": 1} and where(text, "潮") == {"slide": 2} and kinds(text)[-1] == "furniture"


def test_what_is_left_of_truncated_documents_is_read() -> None:
    words = [f"Berth {n} lies {n * n} metres from the lock." for n in range(1, 400)]
    whole = docx("".join(f"<w:p><w:r><w:t>{each}</w:t></w:r></w:p>" for each in words))
    text = parse("a.docx", whole[: len(whole) * 2 // 3])
    covered(text)
    kept = text.text.split("\n\n")
    assert len(kept) > 50 and kept[:50] == words[:50]
    assert (
        text.note
        == "damaged, and read in part: what its list of parts, which is missing, would name, word/document.xml"
    )
    shifted = whole[:40] + b"?" + whole[40:]  # no part stands where the list of parts says
    assert parse("a.docx", shifted).text.split("\n\n")[:-1] == words[:-1]
    at = len(whole) * 2 // 3
    garbled = whole[:at] + bytes(9) + whole[at + 9 :]
    assert parse("a.docx", garbled).text.split("\n\n")[:50] == words[:50]
    pages = [f"Page {n} of the ledger." for n in range(1, 9)]
    whole = pdf(*pages)
    text = parse("a.pdf", whole[: whole.index(b"Page 6")])
    covered(text)
    assert text.text.split("\n\n")[:5] == [*pages[:4], f"{pages[4]}\n"][:5]
    assert where(text, "Page 5") == {"page": 5} and "its end is missing" in text.note


def test_an_embedded_mail_that_is_encoded_as_a_whole_is_read() -> None:
    inner = (
        b"From: a@example.org\r\nSubject: Within\r\nDate: Mon, 2 Mar 2026 10:00:00 +0000\r\n\r\nThe pilot saw it.\r\n"
    )
    mail = (
        b"From: b@example.org\r\nTo: c@example.org\r\nSubject: Around\r\nMIME-Version: 1.0\r\n"
        b'Content-Type: multipart/mixed; boundary="b"\r\n\r\n--b\r\nContent-Type: message/rfc822\r\n'
        b"Content-Transfer-Encoding: base64\r\n\r\n" + base64.encodebytes(inner) + b"\r\n--b--\r\n"
    )
    text = parse("a.eml", mail)
    covered(text)
    assert "## Within" in text.text and text.text.endswith("The pilot saw it.\n") and text.pages == 2


@pytest.mark.parametrize("name", ["a.docx", "a.pdf", "a.epub"])
def test_a_text_that_is_named_like_a_binary_file_is_read(name: str) -> None:
    assert parse(name, b"The tide turns at noon.\n").parser == "plain/2"
    assert parse(name, b"# Tides\n\nThey turn.\n\n## Noon\n\nThen.\n").parser.startswith("markdown")


def test_slides_number_their_lines() -> None:
    numbered = '<a:p><a:pPr lvl="{}"><a:buAutoNum type="{}"/></a:pPr><a:r><a:t>{}</a:t></a:r></a:p>'.format
    lines = (
        numbered(0, "arabicPeriod", "One")
        + numbered(1, "alphaLcParenR", "inner")
        + numbered(1, "alphaLcParenR", "second")
        + numbered(0, "arabicPeriod", "Two")
        + numbered(1, "alphaLcParenR", "anew")
        + "<a:p><a:r><a:t>between</a:t></a:r></a:p>"
        + numbered(0, "romanUcPeriod", "Anew")
    )
    slide = shape("LINES", "body").replace("<a:p><a:r><a:t>LINES</a:t></a:r></a:p>", lines)
    shown = ["- 1. One", "- a) inner", "- b) second", "- 2. Two", "- a) anew", "- between", "- I. Anew"]
    assert parse("a.pptx", pptx(slide)).text.splitlines() == shown


def test_a_pdf_has_its_comments_and_the_fields_that_were_filled_in() -> None:
    field = "<< /Type /Annot /Subtype /Widget /FT /{} /Rect [1 1 2 2] /TU (Berth) /V ({}) {} >>".format
    note = "<< /Type /Annot /Subtype /{} /Rect [1 1 2 2] /T (Ann) /Contents ({}) {} >>".format
    annotations = " ".join(
        [
            field("Tx", "Nine", ""),
            field("Tx", "swordfish", "/Ff 8192"),  # a password
            note("Highlight", "Is that so?", ""),
            note("FreeText", "Written on it", ""),
            note("Text", "not to be seen", "/F 2"),
            note("Popup", "the highlight's", ""),
        ]
    )
    text = parse("a.pdf", pdf("The tide turns.", annotations=annotations))
    covered(text)
    assert text.text == "The tide turns.\n\nBerth: Nine\n\nComment: Ann: Is that so?\n\nWritten on it\n"
    assert where(text, "Is that so") == {"page": 1}


@pytest.mark.parametrize(
    ("content", "declared", "words"),
    [
        ('<meta charset="iso-8859-1">Jürgen'.encode(), "", "Jürgen"),  # UTF-8 in truth
        ('<meta charset="utf-8">Jürgen'.encode("cp1252"), "", "Jürgen"),
        (b'<meta charset="utf-8">' + "Größe übel ähnlich öfter süß über".encode() + b"\xff", "", "Größe übel ähnlich öfter süß über\ufffd"),
        ('<meta charset="shift_jis">潮の満ち引きが港を変える'.encode("shift_jis") + b"\xff!", "", "潮の満ち引きが港を変える\ufffd!"),
        ('<meta charset="utf-16">Jürgen'.encode(), "", "Jürgen"),
        ('<meta charset="shift_jis">מים'.encode("iso-8859-8"), "iso-8859-8", "מים"),
        ("Jürgen".encode(), "us-ascii", "Jürgen"),
        ("Jürgen".encode("cp1252"), "no-such\0", "Jürgen"),
    ],
)  # fmt: skip
def test_a_page_is_decoded_whatever_it_declares(content: bytes, declared: str, words: str) -> None:
    assert decoded(content, declared).text.rpartition(">")[2] == words


def test_a_web_page_keeps_its_menus_apart() -> None:
    page = (
        "<!doctype html><title>Tides</title><script>var x = 'no';</script><nav><a href='/a'>Home</a></nav><h1>Tides</h1>"
        "<p>The <a href='https://example.org/m'>moon</a> pulls\nthe <b>sea</b>.</p><ul><li>ebb<ul><li>neap</li></ul></li></ul>"
        "<table><tr><th>h</th><th>m</th></tr><tr><td>6</td><td>12</td></tr></table><footer>Imprint</footer><p dir=rtl>مرحبا بالعالم</p>"
    )
    text = parse("page.bin", page.encode())
    covered(text)
    assert text.title == "Tides" and "The moon pulls the sea." in text.text and "'no'" not in text.text
    assert "- ebb\n  - neap" in text.text and "| 6 | 12 |" in text.text and "مرحبا بالعالم" in text.text
    furniture = "\n".join(text.text[block.start : block.end] for block in text.blocks if block.kind == "furniture")
    assert "Home" in furniture and "Imprint" in furniture and "- moon: https://example.org/m" in furniture
    assert text.text.index("Imprint") > text.text.index("مرحبا")


def test_mails_and_mailboxes() -> None:
    mail = (
        "From: =?utf-8?q?J=C3=BCrgen?= <j@example.org>\nTo: a@example.org\nSubject: Tide tables\nDate: Mon, 2 Mar 2026 10:00:00 +0000\n"
        'MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="b"\n\n--b\nContent-Type: text/plain; charset=iso-8859-1\n'
        "Content-Transfer-Encoding: quoted-printable\n\nThe harbour is open, J=FCrgen.\n--b\nContent-Type: application/pdf\n"
        'Content-Disposition: attachment; filename="report.pdf"\nContent-Transfer-Encoding: base64\n\nJVBERi0=\n--b--\n'
    )
    text = parse("engine", mail.encode())
    covered(text)
    assert (text.parser, text.title) == ("eml/5", "Tide tables")
    assert "**From:** Jürgen <j@example.org>" in text.text and "The harbour is open, Jürgen." in text.text
    assert "- report.pdf (application/pdf, 5 bytes)" in text.text and "JVBERi0" not in text.text
    assert text.about["participants"] == ["j@example.org", "a@example.org"] and text.about["messages"] == 1
    kept: list[bytes] = []
    box = parse(
        "a.mbox",
        f"From j@example.org Mon Mar  2\n{mail}\nFrom j@example.org Tue\n{mail.replace('open', 'shut')}".encode(),
        keep=lambda name, sha256, content: kept.append(content) or name,  # type: ignore[func-returns-value]
    )
    assert (box.pages, box.text, [part.name for part in box.parts]) == (2, "", ["00001.eml", "00002.eml"])
    assert kept == [mail.encode(), mail.replace("open", "shut").encode()], "byte for byte"


def test_a_mail_is_read_as_the_conversation_that_it_holds() -> None:
    quoted = (
        "Top answer.\n\nOn Mon, 2 Mar 2026 at 10:00, Jane <jane@example.org> wrote:\n> The tide is high.\n>\n"
        "> Am 1.3.2026 schrieb Ann <ann@example.org>:\n>> Who opens the gate?\n"
    )
    forwarded = "See below.\n\n-----Original Message-----\nFrom: Ann <ann@example.org>\nSent: Monday\nTo: Jane\nSubject: gate\n\nOpen it.\n"
    between = "On Monday <jane@example.org> wrote:\n> The tide is high.\nYes, and the wind.\n> And low later.\n"
    for body, messages, people in (
        (quoted, 3, {"ann", "jane", "j"}),
        (forwarded, 2, {"ann", "j"}),
        (between, 1, {"j"}),
    ):
        text = parse(
            "a.eml", f"From: j@example.org\nSubject: Tide\nDate: Mon, 2 Mar 2026 10:00:00 +0000\n\n{body}".encode()
        )
        covered(text)
        assert text.about["messages"] == messages == text.places[-1][1]["message"]
        assert set(text.about["participants"]) == {f"{one}@example.org" for one in people}
        assert all(line.strip("> ") in text.text for line in body.splitlines())
    assert where(text, "wind") == {"message": 1}, "what is answered between the lines is not parted"


def test_encodings_that_do_not_exist_are_guessed() -> None:
    mail = (
        b"From: a@example.org\r\nSubject: =?iso-\xff?b?SGFyYm91cg==?=\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n"
        b"--b\r\nContent-Type: text/plain; charset=no-such\r\n\r\nThe pilot saw it.\r\n"
        b"--b\r\nContent-Type: text/plain\r\nContent-Disposition: attachment; filename==?iso-\xff?b?eA==?=\r\n\r\nx\r\n--b--\r\n"
    )
    text = parse("a.eml", mail)
    assert text.title == "Harbour" and "The pilot saw it." in text.text
    page = b'<html><head><meta charset="\x00utf"></head><body><p>The pilot saw it.</p></body></html>'
    assert "The pilot saw it." in parse("a.html", page).text


def test_notebooks_have_cells() -> None:
    cells = [
        {"cell_type": "markdown", "source": ["# Model\n", "\n", "Tides by harmonics."]},
        {"cell_type": "code", "source": "print(1)", "outputs": [{"output_type": "stream", "text": ["1\n"]}]},
    ]
    text = parse("a.ipynb", json.dumps({"nbformat": 4, "cells": cells}).encode())
    covered(text)
    assert where(text, "harmonics") == {"cell": 1} and where(text, "print") == {"cell": 2}
    assert kinds(text) == ["heading", "paragraph", "code", "code"]
    old = [{"cell_type": "heading", "level": 2, "source": ["Ebb"]}, {"cell_type": "code", "input": "1", "outputs": []}]
    text = parse("a.ipynb", json.dumps({"nbformat": 3, "worksheets": [{"cells": old}]}).encode())
    covered(text)
    assert text.text == "## Ebb\n\n```\n1\n```\n" and kinds(text) == ["heading", "code"]


def test_readings_stand_behind_their_characters() -> None:
    run = "<w:r><w:t>{}</w:t></w:r>".format
    ruby = (
        f"<w:r><w:ruby><w:rubyPr/><w:rt>{run('とうきょう')}</w:rt><w:rubyBase>{run('東京')}</w:rubyBase></w:ruby></w:r>"
    )
    assert parse("a.docx", docx(f"<w:p>{ruby}{run('へ')}</w:p>")).text == "東京(とうきょう)へ\n"
    for reading in ("<rt>とうきょう</rt>", "<rp>(</rp><rt>とうきょう</rt><rp>)</rp>"):
        assert parse("a.html", f"<html><p><ruby>東京{reading}</ruby>へ".encode()).text == "東京(とうきょう)へ\n"


@pytest.mark.parametrize("end", ["", '"never closed,\n3\n', '"closed\n\n"\n'])
def test_rows_of_long_tables_are_counted_like_those_of_short_ones(end: str) -> None:
    rows = [f'{n},"two\nlines ""{n}""",{"plain" * (n % 3)}\n' for n in range(1, 1700)]
    text = "".join(rows) + end
    starts = [sum(map(len, rows[:n])) for n in (0, 500, 1000, 1500)]
    assert row_places("a.csv", text)[:4] == [
        (start, {"row": row, "separator": ","}) for start, row in zip(starts, (1, 501, 1001, 1501), strict=True)
    ]


def test_every_cell_of_a_csv_has_its_place_and_its_decoding_is_exact() -> None:
    content = b'name;"long; er"\r\n"two\nlines";x\r\nz;y'
    text = parse("a.csv", content)
    assert text.text.encode(text.encoding) == content
    assert where(text, "er") == {"row": 1, "column": 2} and where(text, "lines") == {"row": 2, "column": 1}
    assert where(text, "y") == {"row": 3, "column": 2}
    inches = parse("c.csv", b'pipe,5" wide,"6"" deep"\ntube,7" wide,x\n"open,y\nz,9\n')
    assert where(inches, "deep") == {"row": 1, "column": 3} and where(inches, "7") == {"row": 2, "column": 2}
    assert where(inches, "y") == {"row": 3, "column": 2} and where(inches, "9") == {"row": 4, "column": 2}
    long = parse("b.tsv", "".join(f"r{n}\tc{n}\n" for n in range(1, 2001)).encode())
    assert where(long, "c1777") == {"row": 1777, "column": 2}


EPUB = {
    "mimetype": "application/epub+zip",
    "META-INF/container.xml": '<container><rootfiles><rootfile full-path="OEBPS/book.opf"/></rootfiles></container>',
    "OEBPS/book.opf": '<package><metadata><title>Two lights</title></metadata><manifest><item id="a" href="a%20b.xhtml"/>'
    '<item id="c" href="c.xhtml"/></manifest><spine><itemref idref="c"/><itemref idref="a"/></spine></package>',
    "OEBPS/a b.xhtml": "<html><body><h1>Second</h1><p>Fog.</p></body></html>",
    "OEBPS/c.xhtml": "<html><body><h1>First</h1><p>Light.</p></body></html>",
}
ODT = {
    "mimetype": "application/vnd.oasis.opendocument.text",
    "content.xml": '<o:document-content xmlns:o="o" xmlns:t="t"><o:body><o:text><t:h t:outline-level="2">Quay</t:h>'
    "<t:p>Two<t:s/>lights<t:note><t:note-citation>1</t:note-citation><t:note-body><t:p>Below.</t:p></t:note-body></t:note>.</t:p>"
    "<t:list><t:list-item><t:p>one</t:p></t:list-item></t:list></o:text></o:body></o:document-content>",
}
LINE = "<t:span><d:connector><s:title/><s:desc/></d:connector></t:span>"
ODT_CHINESE = {
    "mimetype": ODT["mimetype"],
    "content.xml": '<o:document-content xmlns:o="o" xmlns:t="t" xmlns:d="d" xmlns:s="s"><o:body><o:text>'
    f"<t:p><t:span>潮水</t:span><t:span>時刻</t:span>{LINE}<t:span>—</t:span><t:span>燈塔</t:span></t:p></o:text></o:body></o:document-content>",
}


@pytest.mark.parametrize(
    "parts, wanted",
    [
        (EPUB, "# First\n\nLight.\n\n# Second\n\nFog.\n"),
        (ODT, "## Quay\n\nTwo lights[^1].\n\n- one\n\n[^1]: Below.\n"),
        (ODT_CHINESE, "潮水時刻—燈塔\n"),
    ],
    ids=["epub", "odt", "odt-chinese"],
)
def test_books_and_open_documents(parts: dict[str, str], wanted: str) -> None:
    text = parse("a.zip", archive(parts))
    covered(text)
    assert text.text == wanted


BOMB = '<!DOCTYPE w [<!ENTITY a "aaaaaaaaaa">' + "".join(
    f'<!ENTITY {after} "{f"&{before};" * 10}">' for before, after in zip("abcdefghi", "bcdefghij", strict=True)
)


@pytest.mark.parametrize(
    "name, content, reason",
    [
        ("a.pdf", b"%PDF-1.7\nnothing", "damaged: pdfium says"),
        ("a.pdf", pdf(""), "no text was found"),
        ("a.html", b"<html><body><script>x</script></body></html>", "no text was found"),
        ("a.docx", docx("")[:300], "damaged: its text cannot be read"),
        ("a.docx", docx(""), "no text was found"),
        ("a.ipynb", b'{"nbformat": 4, "cells": [{"cell_type": "code", ', "damaged: it is no notebook"),
        ("a.doc", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "convert it to"),
        ("a.zip", archive({"a.txt": "text"}), "ZIP archive"),
    ],
)
def test_what_cannot_be_read_says_why(name: str, content: bytes, reason: str) -> None:
    with pytest.raises(UnreadableTextError, match=reason):
        parse(name, content)


def test_entities_are_not_expanded_and_deep_nesting_ends() -> None:
    text = parse(
        "a.docx",
        archive(
            {"[Content_Types].xml": "", "word/document.xml": BOMB + "]><w><body><p><t>kept &j;</t></p></body></w>"}
        ),
    )
    assert text.text == "kept\n"
    deep = parse("a.html", b"<html><body>" + b"<div>" * 10_000 + b"bottom")
    assert "bottom" in deep.text


def _signal_parsers(number: signal.Signals) -> list[int]:
    """Kill, or stop, the processes of this one that fork parsers, and return them."""
    found = []
    for thread in Path("/proc/self/task").iterdir():
        for pid in (thread / "children").read_text().split():
            if b"kgfs.formats.child" in Path(f"/proc/{pid}/cmdline").read_bytes():
                os.kill(int(pid), number)
                found.append(int(pid))
    return found


def _end_parsers() -> None:
    _signal_parsers(signal.SIGKILL)


def test_a_parser_that_is_killed_costs_itself_only() -> None:
    slow = b"<html><body>" + b"<div>" * 100_000 + b"bottom"
    with pytest.raises(ParserFailedError, match="ended by SIGKILL"):
        parse("a.html", slow, beat=_end_parsers)
    with pytest.raises(KeyboardInterrupt):
        parse("a.html", slow, beat=lambda: (_ for _ in ()).throw(KeyboardInterrupt))
    assert parse("a.html", b"<html><p>still here").text == "still here\n"


def test_a_process_that_starts_parsers_and_is_stopped_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    assert parse("a.html", b"<html><p>before").text == "before\n"
    [stopped] = _signal_parsers(signal.SIGSTOP)
    monkeypatch.setattr("kgfs.formats.forking.STARTING", 2.0)
    heard: list[float] = []
    begun = time.monotonic()
    assert parse("a.html", b"<html><p>after", beat=lambda: heard.append(time.monotonic())).text == "after\n"
    assert heard[0] - begun < 2, "a worker's leases are renewed while it waits"
    assert not Path(f"/proc/{stopped}").exists()


def test_a_parser_that_takes_too_long_is_ended() -> None:
    with pytest.raises(UnreadableTextError, match="took 1 s of CPU without a page done"):
        parse("a.html", b"<html><body>" + b"<div>" * 100_000 + b"bottom", Limits(cpu=1))


def test_a_bomb_is_refused_within_the_limits() -> None:
    bomb = archive({"[Content_Types].xml": "", "word/document.xml": b"<w>" + bytes([32]) * (400 << 20)})
    with pytest.raises(UnreadableTextError, match="needs more than 320 MiB of memory"):
        parse("a.docx", bomb, Limits(memory=320 << 20))


def test_a_parser_has_no_network() -> None:
    assert network_barrier(Limits()) in ("namespace", "filter")


def test_an_encrypted_office_document_says_so() -> None:
    kept = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600) + "EncryptedPackage".encode("utf-16-le")
    with pytest.raises(UnreadableTextError, match="encrypted: give the password to a copy"):
        parse("a.docx", kept)


@pytest.fixture
def recognised() -> None:
    if not recognition.tesseract():
        missing("tesseract", "it is not installed")


@pytest.mark.usefixtures("recognised")
def test_the_text_of_a_picture_is_recognised() -> None:
    drawn = page_image(pdf("Harbour report\nThe pilot saw the ship."))
    text = parse("lying.txt", png(*drawn))
    covered(text)
    assert text.text == "Harbour report\nThe pilot saw the ship.\n"
    assert (text.parser, text.media_type, text.pages, text.places, text.note) == ("png/2", "image/png", 0, (), "")


@pytest.mark.usefixtures("recognised")
def test_pages_of_a_tiff_are_cited_and_a_bad_one_costs_itself_only() -> None:
    first, third = (page_image(pdf(words)) for words in ("The pilot saw the ship.", "The keeper lit the lamp."))
    text = parse("scan", tiff(first, (40, 40, bytes([255]) * 1600), third, (60_000, 60_000, b"")))
    covered(text)
    assert (text.parser, text.media_type, text.pages) == ("tiff/2", "image/tiff", 4)
    assert where(text, "pilot") == {"page": 1} and where(text, "lamp") == {"page": 3}
    assert text.note == (
        "page 4: too large: 60000 × 60000 pixels; 150 million at most are read; no text was recognised on 1 of 4 pages"
    )


@pytest.mark.usefixtures("recognised")
@pytest.mark.parametrize(
    "content, reason",
    [
        (png(100, 100, bytes([255]) * 10_000), "no text was recognised"),
        (png(100, 100, b""), "damaged: tesseract says"),
        (png(100_000, 100_000, b""), "too large: 100000 × 100000 pixels"),
        (png(5, 0, b""), "damaged: this PNG image has no pixels"),
        (b"\xff\xd8\xff\xe0\0\x04\0\0\xff\xc2\0\x0b\x08\xff\xff\xff\xff\x01", "too large: 65535 × 65535"),
        (b"RIFF\0\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0\xff\xff\xff\xff\xff\xff", "too large: 16777216 × 16777216"),
        (b"RIFF\0\0\0\0WEBPVP8L\0\0\0\0\x2f\xff\xff\xff\x0f", "too large: 16384 × 16384"),
        (b"RIFF\0\0\0\0WEBPVP8 \0\0\0\0\0\0\0\x9d\x01\x2a\xff\x3f\xff\x3f", "too large: 16383 × 16383"),
        (b"II*\0\x08\0\0\0", "damaged: this TIFF image ends"),
        (b"MM\0*\0\0\0\0", "damaged: this TIFF image has no pages"),
    ],
)
def test_what_has_no_text_or_no_picture_says_why(content: bytes, reason: str) -> None:
    with pytest.raises(UnreadableTextError, match=reason):
        parse("a.docx", content)


def test_a_picture_without_tesseract_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(UnreadableTextError, match="needs tesseract: apt-get install tesseract-ocr"):
        parse("a.png", png(10, 10, bytes(100)))
    with pytest.raises(UnreadableTextError, match=r"no text was found on 1 of 1 pages: 1; .* apt-get install"):
        parse("a.pdf", scan((100, 100, bytes(10_000))))


@pytest.mark.usefixtures("recognised")
def test_scanned_pages_of_a_pdf_are_recognised() -> None:
    first, third = (page_image(pdf(words)) for words in ("The pilot saw the ship.", "The keeper\nlit the lamp."))
    text = parse("scan.pdf", scan(first, (100, 100, bytes([255]) * 10_000), third))
    covered(text)
    assert text.text == "The pilot saw the ship.\n\nThe keeper\nlit the lamp.\n"
    assert where(text, "pilot") == {"page": 1} and where(text, "lamp") == {"page": 3}
    assert (text.pages, text.note) == (3, "no text was found on 1 of 3 pages: 2")


class _Pages:
    """Pages that are kept; after ``most`` of them the parser is interrupted."""

    def __init__(self, most: int) -> None:
        self.kept: dict[int, str] = {}
        self.most = most

    def known(self) -> dict[int, str]:
        return dict(self.kept)

    def keep(self, page: int, text: str, scans: int) -> None:
        assert page not in self.kept, "a page that is known is not recognised again"
        self.kept[page] = text
        if len(self.kept) == self.most:
            raise LostLeaseError(f"{len(self.kept)} of {scans}")


@pytest.mark.usefixtures("recognised")
def test_recognised_pages_are_kept_one_by_one_and_gone_on_from() -> None:
    original = scan(
        *(page_image(pdf(f"The {word} page of the harbour report.")) for word in ("first", "second", "third"))
    )
    pages = _Pages(2)
    with pytest.raises(LostLeaseError, match="2 of 3"):
        parse("scan.pdf", original, pages=pages)
    assert list(pages.kept) == [1, 2]
    whole = parse("scan.pdf", original, pages=pages)
    assert whole == parse("scan.pdf", original)
    assert [place["page"] for _, place in whole.places] == [1, 2, 3]
