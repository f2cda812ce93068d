"""Program code told by its lines, and the header that its Sources are found by."""

from __future__ import annotations

from kgfs.formats.code import is_code
from kgfs.formats.table import format_of
from kgfs.stores.words.headers import headers

CODE = """\
import os

class Cache(Base):
    def __init__(self, size):
        self.size = size

    def load_page(self, n):
        return self.pages[n]

def main():
    cache = Cache(10)
    print(cache.load_page(1))
"""
PROSE = "A cache keeps what was asked before.\nIt has a size; what is old leaves it (or is written).\n"


def test_code_is_told_by_its_lines() -> None:
    assert is_code(CODE)
    assert not is_code(PROSE)
    assert format_of("notes.txt", CODE.encode()).parser == "source/3"
    assert format_of("notes.txt", PROSE.encode()).parser == "plain/2"


def test_sources_of_code_have_the_names_and_the_definition_around() -> None:
    at = CODE.index("        return")
    told, (first, second) = headers("cache", [(CODE[:at], ()), (CODE[at:], ())])
    assert told
    assert first == "Cache __init__ load_page main\n"
    assert second == "Cache __init__ load_page main\ndef load_page(self, n):"


def test_sources_of_prose_have_title_and_section_path() -> None:
    assert headers("Caches", [(PROSE, ("Size", "Limits"))]) == (False, ["Caches Size Limits"])
