"""Bytes → Text: what is accepted decodes exactly, what is refused says why."""

from __future__ import annotations

import codecs
import gzip
import hashlib
import io
import os
import random
import sqlite3
import time
import zipfile
import zlib
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kgfs.errors import UnreadableTextError
from kgfs.formats.table import parse

NAMES = st.sampled_from(("a.txt", "b.md", "c.rst", "d.py", "e.csv", "no-extension", "folder/f.unknown"))
TEXTS = st.text(
    st.one_of(
        st.characters(exclude_categories=["Cs"], exclude_characters="\x00"),
        st.sampled_from("\n\r\t\f #=-*>:`|.1a\u0301\u200d🇩👍\ufeff"),
    ),
    max_size=300,
)


def refused(name: str, content: bytes) -> str:
    with pytest.raises(UnreadableTextError) as caught:
        parse(name, content)
    assert name in str(caught.value)
    return str(caught.value)


@settings(max_examples=300, deadline=None)
@given(NAMES, TEXTS, st.sampled_from(("utf-8", "utf-8-sig", "utf-16-le", "utf-16-be")))
@example("a.md", "\ufeff", "utf-8")
@example("a.rst", "\r\n=\r=\n", "utf-16-le")
def test_what_is_accepted_is_decoded_exactly(name: str, text: str, encoding: str) -> None:
    marks = {"utf-16-le": codecs.BOM_UTF16_LE, "utf-16-be": codecs.BOM_UTF16_BE}
    content = marks.get(encoding, b"") + text.encode(encoding)
    try:
        parsed = parse(name, content)
    except UnreadableTextError:
        return
    assert parsed.text.encode(parsed.encoding) == content
    assert parsed.sha256 == hashlib.sha256(parsed.text.encode("utf-8", "surrogatepass")).hexdigest()
    assert parsed.title and "\n" not in parsed.title


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_are_decoded_as_told_or_refused(content: bytes) -> None:
    try:
        parsed = parse("any.txt", content)
    except UnreadableTextError:
        return
    if parsed.encoding:
        assert content.decode(parsed.encoding) == parsed.text and not parsed.note
    else:
        assert "\ufffd" in parsed.text and parsed.note
    assert "\x00" not in parsed.text


@settings(max_examples=300, deadline=None)
@given(NAMES, TEXTS)
@example("b.md", "- a\n\n\n```\nnever closed")
@example("c.rst", "a::\n\n  b\n\n.. c::\n d\n==\ne\n==\n")
@example("a.txt", "\ufeff\n\ufeff")
def test_blocks_are_ordered_and_hold_everything_but_white_space(name: str, text: str) -> None:
    try:
        parsed = parse(name, text.encode())
    except UnreadableTextError:
        return
    at = 0
    for block in parsed.blocks:
        assert at <= block.start < block.end <= len(parsed.text)
        assert not parsed.text[at : block.start].strip()
        assert parsed.text[block.start : block.end].strip()
        assert (block.kind == "heading") == bool(block.level)
        at = block.end
    assert not parsed.text[at:].strip()


@pytest.mark.parametrize(
    ("content", "encoding"),
    [
        (b"", "utf-8"),
        ("naïve\r\nline".encode(), "utf-8"),
        (codecs.BOM_UTF8 + b"marked", "utf-8"),
        (codecs.BOM_UTF16_LE + "schön\r\n".encode("utf-16-le"), "utf-16-le"),
        (codecs.BOM_UTF16_BE + "𝔘nicode".encode("utf-16-be"), "utf-16-be"),
        (codecs.BOM_UTF32_LE + "wide".encode("utf-32-le"), "utf-32-le"),
        ("Grüße aus Köln\f\tund anderswo\r\n".encode("latin-1"), "windows-1252"),
        (b"a log with \x1b[31mcolour\x1b[0m in the middle of many ordinary words, as terminals write it", "utf-8"),
    ],
)
def test_encodings(content: bytes, encoding: str) -> None:
    parsed = parse("x.txt", content)
    assert parsed.encoding == encoding
    assert parsed.text.encode(encoding) == content


def sqlite_file(tmp_path: Path) -> bytes:
    with sqlite3.connect(tmp_path / "x.db") as database:
        database.execute("create table a (b)")
    database.close()
    return (tmp_path / "x.db").read_bytes()


def zip_file() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("word/document.xml", "<x/>")
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("content", "named"),
    [
        (b"%PDF-1.7\nplain enough", "PDF"),
        (zip_file(), "ZIP"),
        (gzip.compress(b"x" * 100, mtime=0), "gzip"),
        (b"\x89PNG\r\n\x1a\n" + b"\x00" * 20, "PNG"),
        (b"\xff\xd8\xff\xe0" + b"\x00" * 20, "JPEG"),
        (b"GIF89a\x01\x00", "GIF"),
        (b"\x7fELF\x02\x01\x01", "ELF"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "Office"),
        (b"ID3\x03\x00\x00", "MP3"),
        (b"\xff\xfb\x90\x44", "MP3"),
        (b"\x00\x00\x00\x20ftypisom", "MP4"),
        (b"RIFF\x24\x00\x00\x00WAVEfmt ", "WAV"),
    ],
)
def test_known_formats_are_refused_by_name_whatever_the_extension(content: bytes, named: str) -> None:
    assert named in refused("harmless.txt", content)


def test_a_database_is_refused(tmp_path: Path) -> None:
    assert "SQLite" in refused("notes.md", sqlite_file(tmp_path))


@pytest.mark.parametrize(
    "content",
    [
        os.urandom(4096) + b"\x00\x80",
        random.Random(1).randbytes(500),
        zlib.compress(b"words " * 1000),
        bytes(range(1, 32)) * 3,
        codecs.BOM_UTF16_LE + b"\x00\x00a\x00",
        codecs.BOM_UTF16_LE + b"odd",
        codecs.BOM_UTF8 + b"\xff\xfe",
    ],
)
def test_binary_junk_named_txt_is_refused(content: bytes) -> None:
    assert any(word in refused("junk.txt", content) for word in ("binary data", "not valid", "not UTF-8"))


@pytest.mark.parametrize(
    ("name", "text", "parser", "title"),
    [
        ("a.md", "---\ntitle: 'The Way of Zen'\nauthor: x\n---\n\n# Other\n", "markdown/2", "The Way of Zen"),
        ("Oak trees.md", "See [[Elm]].\n\n## Later\n", "markdown/2", "Oak trees"),
        ("a.md", "Intro first.\n\n# The *real* [title](http://x) #\n", "markdown/2", "The real title"),
        ("a.md", "Set in text\n===========\n", "markdown/2", "Set in text"),
        (
            "a.rst",
            "PEP: 8\nTitle: Style Guide\n  for Code\nStatus: Active\n\nIntro\n=====\n",
            "rst/2",
            "Style Guide for Code",
        ),
        ("a.rst", ":author: me\n:title: Fields\n\nHead\n----\n", "rst/2", "Fields"),
        ("a.rst", "=======\nTop one\n=======\n\nText.\n", "rst/2", "Top one"),
        ("pep.txt", "PEP: 1\nTitle: Purpose\n\nText.\n", "rst/2", "Purpose"),
        ("a.txt", "\ufeffA short first line\n\nAnd then a paragraph.\n", "plain/2", "A short first line"),
        ("sub/folder/name.of.file.txt", "x" * 500, "plain/2", "name.of.file"),
        ("a.txt", "", "plain/2", "a"),
        ("LICENSE", "----\n\nlong " * 40, "plain/2", "LICENSE"),
        ("notes", "# One\n\ntext\n\n## Two\n\ntext\n", "markdown/2", "One"),
        ("tool.py", "def f():\n    return 1\n", "source/3", "tool.py"),
        ("tool.sh", "run() {\n    true\n}\n", "source/3", "run() {"),
        ("t.csv", "a,b\n1,2\n", "table/4", "t.csv"),
    ],
)
def test_markup_and_title(name: str, text: str, parser: str, title: str) -> None:
    parsed = parse(name, text.encode())
    assert (parsed.parser, parsed.title) == (parser, title)


@pytest.mark.parametrize("extension", ["txt", "md", "rst"])
@pytest.mark.parametrize("unit", ["word ", "x", "=", "- ", ". ", "> ", "`", "[a](", " ", "_*"])
def test_one_line_of_twenty_megabytes_is_parsed_in_a_moment(extension: str, unit: str) -> None:
    content = (unit * (20_000_000 // len(unit))).encode()
    begun = time.process_time()
    parsed = parse(f"one-line.{extension}", content)
    assert time.process_time() - begun < 5
    assert len(parsed.text) == len(content)


@pytest.mark.parametrize("extension", ["txt", "md", "rst"])
@pytest.mark.parametrize(
    "lines", ["= =\n\n", "a\n=\n", "```\n", ".. a::\n", "- a\n\n", "a::\n\n b\n", "a|b\n-|-\n", "+-+\n"]
)
def test_time_is_linear_in_the_number_of_odd_lines(extension: str, lines: str) -> None:
    def seconds(count: int) -> float:
        content = (lines * count).encode()
        begun = time.process_time()
        parse(f"odd.{extension}", content)
        return time.process_time() - begun

    assert seconds(40_000) < 40 * max(0.03, seconds(4_000))
