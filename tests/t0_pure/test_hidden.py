"""What a page or a mail hides is not its text."""

from __future__ import annotations

import pytest

from kgfs.formats.table import parse
from tests.support.office import docx

HIDDEN = [
    "<div style='display:none'>SECRET</div>",
    "<div style='color:red; DISPLAY : None !important'>SECRET</div>",
    "<p style='visibility:hidden'>SECRET</p>",
    "<p hidden>SECRET</p>",
    "<p hidden=hidden><span>SECRET</span></p>",
    "<section hidden><h2>SECRET</h2><table><tr><td>SECRET<td>2</table></section>",
    "<ul><li>one</li><li hidden>SECRET</li></ul>",
    "<table><tr><td>a<td>b<tr style='display:none'><td>SECRET<td>d<tr><td hidden>SECRET<td>e<td>f</table>",
    "<pre>code<span hidden>SECRET</span></pre>",
    "<a href='https://example.org/x'>there<span hidden>SECRET</span></a>",
    "<a hidden href='https://example.org/SECRET'>there</a>",
    "<nav hidden>SECRET</nav>",
    "<input type=hidden value=SECRET>",
]
SHOWN = [
    "<div style='display:block'>SHOWN</div>",
    "<div style='-x-display:none; background:url(display:none)'>SHOWN</div>",
    "<p hidden=until-found>SHOWN</p>",
    "<p aria-hidden=true>SHOWN</p>",
    "<details><summary>More</summary>SHOWN</details>",
    "<p style='color:white'>SHOWN</p>",
]


@pytest.mark.parametrize("page", HIDDEN)
def test_what_is_hidden_is_left_out(page: str) -> None:
    page = f"<!doctype html><title>Page</title><p>Before.</p>{page}<p>After.</p>"
    text = parse("a.html", page.encode()).text
    assert "SECRET" not in text and "Before." in text and "After." in text


@pytest.mark.parametrize("page", SHOWN)
def test_what_is_shown_is_read(page: str) -> None:
    assert "SHOWN" in parse("a.html", f"<!doctype html><body style='display:none'>{page}".encode()).text


def test_mails_and_documents_in_documents_hide_too() -> None:
    page = (
        "<html><body><div style='display:none;max-height:0'>SECRET</div><p>The orchard offers pears.</p></body></html>"
    )
    mail = (
        f"From: a@example.org\nTo: b@example.org\nSubject: Offer\nMIME-Version: 1.0\nContent-Type: text/html\n\n{page}"
    )
    word = docx('<w:altChunk r:id="r1"/>', {"chunk.html": page}, r1=("aFChunk", "chunk.html"))
    for text in (parse("a.eml", mail.encode()), parse("a.docx", word)):
        assert "orchard" in text.text and "SECRET" not in text.text
