"""Documents of others (tests/data/formats): what their Text holds, where in the original it is, and what damaged ones say."""

from __future__ import annotations

import collections
import shutil
from pathlib import Path

import pytest

from bench.fuzz import fuzzed
from kgfs.domain.places import locate
from kgfs.domain.text import Text
from kgfs.errors import UnreadableTextError
from kgfs.formats.table import parse
from tests.support.required import missing

DOCUMENTS = Path(__file__).parents[1] / "data" / "formats"
RECOGNISED = ("testOCR.pdf", "testOCR_spacing.png", "testOCR.jpg", "testTIFF_multipage.tif")

HELD = [
    ("testPDF.pdf", ["Apache Tika is a toolkit for detecting and extracting metadata"], {"page": 1}),
    ("testPDF_bookmarks.pdf", ["This is a page about France", "This is a page about Denmark"], {"page": 2}),
    ("testOptionalHyphen.pdf", ["optionalhyphen"], {"page": 1}),
    ("pdflatex-outline.pdf", ["1 Foo", "“Huardest gefburn”? Kjift – not at all!"], {"page": 2}),
    ("selenium-pypdf-issue-177.pdf", ["Page 1 sur 1", "Hello World"], {"page": 1}),
    ("multilang.pdf", ["مرحبا بالعالم", "Привет, мир", "你好世界", "こんにちは世界"], {"page": 1}),
    ("testPDF_bad_page_303226.pdf", ["Drug Enforcement Administration, Justice"], {"page": 1}),
    ("testOCR.pdf", ["Happy New Year 2003!"], {"page": 1}),
    (
        "testWORD_various.docx",
        [
            "This is the header text.",
            "Here is a text box",
            "1) Number bullet 1",
            "| Row 2 Col 1 | Row 2 Col 2 | Row 2 Col 3 |",
            "ゾルゲと尾崎、淡々と最期",
            "[^1]: This is a footnote.",
        ],
        None,
    ),
    ("testWORD_numbered_list.docx", ["1) This", "    ii) Level", "(1) baq", "6. six", "1.1.1. 1.1.1"], None),
    ("testODTnotaZipFile.odt", ["This is not a zip file!"], None),
    ("testWORD_phonetic.docx", ["東京"], None),
    ("testWORD_endnote_table.docx", ["Lorem ipsum dolor sit amet"], None),
    (
        "testEXCEL_big_numbers.xlsx",
        ["| 123456789012345 | 123456789012346 |", "| 1234567890123450 | 1234567890123451 |"],
        {"sheet": "Sheet1", "row": 2, "column": 1},
    ),
    ("testEXCEL_dateFormats.xlsx", ["| 1996-08-10 |"], {"sheet": "Munka1", "row": 3, "column": 1}),
    ("testEXCEL_phonetic.xlsx", ["| 5 | ジャパン | 統括 | 本部 |"], {"sheet": "Sheet1", "row": 6, "column": 1}),
    ("testPPT_various.pptx", ["| Row 1 Col 1 | Row 1 Col 2 |", "Here is a text box"], {"slide": 1}),
    ("testODFwithOOo3.odt", ["# Apache Tika Test Document", "1. First item", "[^1]: This is of course"], None),
    ("testEPUB.epub", ["# Chapter 1", "| Table header | Table data |"], None),
    ("testHTML_utf8.html", ["åäö"], None),
    ("testBoilerplateMissingSpace.html", ["The blobfish (Psychrolutes marcidus) is a deep sea fish"], None),
    ("testMHTMLFirefox.mhtml", ["a Java framework for getting data and metadata"], None),
    (
        "testRFC822_multipart_attachments.eml",
        ["# EML 1", "This is test email for EML1", "Test TxtA.txt"],
        {"message": 1},
    ),
    ("testOCR_spacing.png", ["The quick brown fox"], None),
    ("testOCR.jpg", ["OCR"], None),
    ("testTIFF_multipage.tif", ["Page 1"], {"page": 1}),
    ("testCSV.csv", ["Sample CSV File - Numbers and their Squares"], {"row": 1, "column": 1}),
]
"""Name, what the Text holds in this order, and the locator of the last of these."""

REFUSED = {
    "libreoffice-writer-password.pdf": "encrypted: give the password to a copy",
    "testODTEncrypted.odt": "encrypted: give the password to a copy",
    "testWORD_protected_passtika.docx": "encrypted: give the password to a copy",
    "testWORD_truncated.docx": "damaged",
    "simple.mbox": "no mail follows",
}


@pytest.fixture(autouse=True)
def _recognition(request: pytest.FixtureRequest) -> None:
    if not shutil.which("tesseract") and any(name in request.node.name for name in RECOGNISED):
        missing("tesseract", "tesseract is not installed")


def read(name: str) -> Text:
    return parse(name, (DOCUMENTS / name).read_bytes())


@pytest.mark.parametrize(("name", "held", "place"), HELD, ids=[row[0] for row in HELD])
def test_what_people_read_is_in_the_text(name: str, held: list[str], place: dict[str, str | int] | None) -> None:
    text = read(name)
    at = 0
    for words in held:
        at = text.text.index(words, at)
    assert locate(text.text, text.places, at) == (place or {})


def test_mails_of_a_mailbox_are_told_apart() -> None:
    kept: list[bytes] = []

    def keep(name: str, sha256: str, part: bytes) -> str:
        kept.append(part)
        return name

    text = parse("complex.mbox", (DOCUMENTS / "complex.mbox").read_bytes(), keep=keep)
    assert (text.pages, len(text.parts), len(kept)) == (3, 3, 3)


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_read_says_why(name: str) -> None:
    with pytest.raises(UnreadableTextError, match=REFUSED[name]):
        read(name)


def test_damaged_files_cost_their_own_process_only() -> None:
    """Twenty mutations of each format (``make fuzz`` tries 500): each is read or refused, with a reason."""
    outcomes = list(fuzzed(DOCUMENTS, 20, 1))
    assert {outcome.what for outcome in outcomes} <= {"read", "refused"}, [
        outcome for outcome in outcomes if outcome.what not in ("read", "refused")
    ]
    assert min(collections.Counter(outcome.parser for outcome in outcomes).values()) == 20
    assert all(outcome.reason for outcome in outcomes if outcome.what == "refused")
