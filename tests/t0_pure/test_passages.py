"""The language of a document, and of its Sources that are in another one."""

from __future__ import annotations

from itertools import pairwise

from kgfs.domain.text import Chunk
from kgfs.formats.table import parse
from kgfs.ingest.reading.passages import language_told, passages_of

ENGLISH = (
    "The tide table gives the hour of each tide, and the pilot reads it before he leaves the harbour with his boat."
)
FRENCH = (
    "L'annuaire des marées donne l'heure de chaque marée, et le pilote le lit avant de sortir du port avec son bateau."
)
NAMES = "Zyxt Ptah Qwol Brix Vemm Lork Zorn Tank Plim Drok Grut Flem Snat Krel Wump Yott Clix Frab Hrun Jexl"


def test_a_source_in_another_language_is_read_in_that() -> None:
    content = "\n\n".join([ENGLISH * 3, FRENCH, NAMES, "Tide."])
    text = parse("tides.md", content.encode())
    assert language_told(text) == "en"
    borders = [0, content.index(FRENCH), content.index(NAMES), content.rindex("Tide."), len(content)]
    chunks = [Chunk(n, start, end, 1, 1, 0, 0, (), 9, start) for n, (start, end) in enumerate(pairwise(borders))]
    told = [one.language for one in passages_of("Tides", content, chunks, "en")]
    assert told == ["en", "fr", "en", "en"]
    assert [one.language for one in passages_of("Tides", content, chunks, "de")] == ["en", "fr", "de", "de"]


def test_code_tables_and_comments_of_html_tell_no_language() -> None:
    assert language_told(parse("a.md", f"```\n{ENGLISH}\n```\n\n{FRENCH}\n".encode())) == "fr"
    assert language_told(parse("a.md", f"<!-- {ENGLISH} {ENGLISH} -->\n\n{FRENCH}\n".encode())) == "fr"
    assert language_told(parse("a.md", f"```\n{ENGLISH}\n```\n".encode())) == ""
    assert language_told(parse("a.py", f"# {FRENCH}\nx = 1  # {ENGLISH}\n".encode())) == "fr"
