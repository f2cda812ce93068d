"""The numbers that word processors give to lists and headings, and what they take in from elsewhere."""

from __future__ import annotations

from collections.abc import Mapping

from kgfs.formats import docx as word
from kgfs.formats import odt
from kgfs.formats.pieces import put_together
from tests.support.office import archive, docx

NUMBERING = (
    '<w:abstractNum w:abstractNumId="1"><w:lvl w:ilvl="0"><w:start w:val="1"/><w:numFmt w:val="upperRoman"/><w:lvlText w:val="Article %1."/>'
    '<w:pStyle w:val="Art"/></w:lvl><w:lvl w:ilvl="1"><w:start w:val="1"/><w:isLgl/><w:lvlText w:val="%1.%2"/><w:pStyle w:val="Sec"/></w:lvl>'
    '<w:lvl w:ilvl="2"><w:start w:val="1"/><w:lvlRestart w:val="0"/><w:numFmt w:val="lowerLetter"/><w:lvlText w:val="(%3)"/></w:lvl></w:abstractNum>'
    '<w:abstractNum w:abstractNumId="2"><w:numStyleLink w:val="Linked"/></w:abstractNum>'
    '<w:num w:numId="6"><w:abstractNumId w:val="1"/><w:lvlOverride w:ilvl="1"><w:startOverride w:val="1"/></w:lvlOverride></w:num>'
    '<w:num w:numId="4"><w:abstractNumId w:val="1"/></w:num><w:num w:numId="5"><w:abstractNumId w:val="2"/></w:num>'
)
STYLES = (
    '<w:style w:styleId="Sub"><w:basedOn w:val="Sec"/></w:style>'
    '<w:style w:styleId="Art"><w:name w:val="heading 1"/><w:pPr><w:numPr><w:numId w:val="4"/></w:numPr></w:pPr></w:style>'
    '<w:style w:styleId="Sec"><w:name w:val="heading 2"/><w:pPr><w:numPr><w:numId w:val="4"/></w:numPr></w:pPr></w:style>'
    '<w:style w:styleId="Linked"><w:pPr><w:numPr><w:numId w:val="4"/></w:numPr></w:pPr></w:style>'
)


def paragraph(words: str, style: str = "", numbers: str = "") -> str:
    named = f'<w:pStyle w:val="{style}"/>' if style else ""
    numbered = f"<w:numPr>{numbers}</w:numPr>" if numbers else ""
    run = f"<w:r><w:t>{words}</w:t></w:r>" if words else ""
    return f"<w:p><w:pPr>{named}{numbered}</w:pPr>{run}</w:p>"


def text_of_word(body: str, parts: Mapping[str, str | bytes] | None = None, **targets: tuple[str, str]) -> str:
    content = docx(
        body,
        {
            "numbering.xml": f"<w:numbering NAMES>{NUMBERING}</w:numbering>",
            "styles.xml": f"<w:styles NAMES>{STYLES}</w:styles>",
            **(parts or {}),
        },
        r1=("numbering", "numbering.xml"),
        r2=("styles", "styles.xml"),
        **targets,
    )
    return put_together("a.docx", "docx", "", word.pieces(content)).text


def test_word_counts_by_styles_links_and_empty_paragraphs() -> None:
    third = '<w:ilvl w:val="2"/><w:numId w:val="4"/>'
    text = text_of_word(
        paragraph("Berths", "Art")
        + paragraph("Depth", "Sec")
        + paragraph("at low water", numbers=third)
        + paragraph("Width", "Sub")  # a style whose parent stands behind it
        + paragraph("of the gate", numbers=third)  # lvlRestart 0: it goes on
        + paragraph("Cranes", "Art")
        + paragraph("Reach", "Sec")
        + paragraph("", numbers='<w:ilvl w:val="0"/><w:numId w:val="5"/>')  # counted, and shown, without a word
        + paragraph("Tides", "Art")
        + paragraph("of the moon", numbers=third)  # the level between is counted as begun
        + paragraph("Neap", "Sec")
        + paragraph("Spring", "Sec", '<w:ilvl w:val="1"/><w:numId w:val="6"/>')  # begins anew where it says so
        + paragraph("Ebb", "Sec")
    )
    assert text == (
        "# Article I. Berths\n\n## 1.1 Depth\n\n    (a) at low water\n\n## 1.2 Width\n\n    (b) of the gate\n\n"
        "# Article II. Cranes\n\n## 2.1 Reach\n\nArticle III.\n\n# Article IV. Tides\n\n    (c) of the moon\n\n## 4.2 Neap\n\n"
        "## 4.1 Spring\n\n## 4.2 Ebb\n"
    )


def test_what_word_takes_in_from_other_documents_stands_in_its_place() -> None:
    inner = docx(paragraph("A memo within."))
    text = text_of_word(
        paragraph("Before.")
        + '<w:altChunk r:id="r5"/><w:altChunk r:id="r6"/><w:altChunk r:id="r7"/>'
        + paragraph("Behind."),
        {
            "page.html": "<html><body><table><tr><td>Berth</td><td>9 m</td></tr></table></body></html>",
            "memo.docx": inner,
            "old.rtf": "{\\rtf1 lost}",
        },
        r5=("aFChunk", "page.html"),
        r6=("aFChunk", "memo.docx"),
        r7=("aFChunk", "old.rtf"),
    )
    assert text == "Before.\n\n| Berth | 9 m |\n| --- | --- |\n\nA memo within.\n\nBehind.\n"


def test_formulas_are_one_line() -> None:
    run = "<m:r><m:t>{}</m:t></m:r>".format
    fraction = f"<m:f><m:num>{run('a+b')}</m:num><m:den>{run('2')}</m:den></m:f>"
    power = f"<m:sSup><m:e>{run('x')}</m:e><m:sup>{run('n')}</m:sup></m:sSup>"
    root = f"<m:rad><m:deg/><m:e>{power}</m:e></m:rad>"
    total = f'<m:nary><m:naryPr><m:chr m:val="∑"/></m:naryPr><m:sub>{run("i=1")}</m:sub><m:sup>{run("n")}</m:sup><m:e>{root}</m:e></m:nary>'
    body = f'<w:p><m:oMathPara xmlns:m="urn:m"><m:oMath>{fraction}{run("=")}{total}</m:oMath></m:oMathPara></w:p>'
    assert text_of_word(body) == "(a+b)/2=∑_(i=1)^n √(x^n)\n"


def test_open_document_counts_lists_and_headings() -> None:
    level = '<text:list-level-style-number text:level="{}" style:num-format="{}" style:num-suffix="{}" text:display-levels="{}"/>'.format
    item = "<text:list-item{}>{}</text:list-item>".format
    words = "<text:p>{}</text:p>".format
    heading = '<text:h text:outline-level="{}">{}</text:h>'.format
    content = archive(
        {
            "mimetype": "application/vnd.oasis.opendocument.text",
            "styles.xml": '<r xmlns:text="t" xmlns:style="s"><text:outline-style>'
            '<text:outline-level-style text:level="1" style:num-format="I" style:num-suffix="."/>'
            "</text:outline-style></r>",
            "content.xml": '<r xmlns:text="t" xmlns:style="s"><text:list-style style:name="L">'
            + level(1, "1", ".", 1)
            + level(2, "a", ")", 2)
            + "</text:list-style><body><text>"
            + heading(1, "Berths")
            + '<text:list text:style-name="L">'
            + item(
                "", words("North") + words("of the lock") + "<text:list>" + item("", words("Depth")) + "</text:list>"
            )
            + item(' text:start-value="7"', words("South"))
            + "<text:list-header>"
            + words("no number")
            + "</text:list-header>"
            + item("", heading(2, "Cranes"))
            + "</text:list>"
            + '<text:list text:style-name="L" text:continue-numbering="true">'
            + item("", words("East"))
            + "</text:list>"
            + '<text:list text:style-name="L">'
            + item("", words("Anew"))
            + "</text:list>"
            + heading(1, "Tides")
            + "</text></body></r>",
        }
    )
    assert put_together("a.odt", "odt", "", odt.pieces(content)).text == (
        "# I. Berths\n\n1. North\n  of the lock\n  1.a) Depth\n7. South\n  no number\n\n## 8. Cranes\n\n9. East\n\n1. Anew\n\n"
        "# II. Tides\n"
    )
