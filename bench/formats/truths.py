"""What a document holds according to other programs: pdftotext, pandoc, python-pptx, openpyxl, csv and Beautiful Soup."""

from __future__ import annotations

import csv
import datetime
import io
import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PANDOC = {"docx": "docx", "odt": "odt", "epub": "epub"}
NOT_SHOWN = ("script", "style", "template", "noscript", "head", "iframe")

BLOCKS = [
    *("address", "article", "aside", "blockquote", "br", "button", "dd", "details", "div", "dl", "dt", "fieldset"),
    *(
        "figcaption",
        "figure",
        "footer",
        "form",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "header",
        "hr",
        "input",
        "li",
        "main",
    ),
    *("nav", "ol", "option", "p", "pre", "section", "select", "summary", "table", "td", "textarea", "th", "tr", "ul"),
]
"""Elements that end the word before them."""


@dataclass(slots=True)
class Truth:
    text: str
    also: str = ""
    """The same in another order of reading, which is as good."""
    rows: list[list[str]] = field(default_factory=list)
    """The rows of tables, by their cells."""
    headings: list[tuple[int, str]] = field(default_factory=list)
    """(level from 1, words)."""
    pages: list[str] = field(default_factory=list)
    """The texts of the pages or slides."""
    cells: dict[tuple[str, int, int], str] = field(default_factory=dict)
    """The cells of sheets: (sheet, row, column) from 1 → its value in the form that kgfs promises. The sheet of CSV is
    ''."""


def truth_of(path: Path) -> Truth:
    """Return what other programs say of a document. ``NAME.truth`` beside it is taken in place of their text."""
    kind = path.suffix[1:].lower()
    beside = path.with_name(path.name + ".truth")
    if beside.exists():
        return Truth(beside.read_text("utf-8"))
    if kind == "pdf":
        return _pdf(path)
    if kind in PANDOC:
        return _pandoc(path, PANDOC[kind])
    if kind == "pptx":
        return _pptx(path)
    if kind == "xlsx":
        return _xlsx(path)
    if kind in ("csv", "tsv"):
        return _delimited(path)
    if kind in ("html", "htm", "xhtml"):
        return _html(path.read_bytes())
    raise ValueError(f"{path}: no independent truth; put one into {beside.name}")


def output_of(*words: str) -> str:
    done = subprocess.run(words, capture_output=True, timeout=240, check=False)
    return done.stdout.decode("utf-8", "replace")


def _pdf(path: Path) -> Truth:
    text = output_of("pdftotext", "-enc", "UTF-8", str(path), "-")
    by_lines = output_of("pdftotext", "-enc", "UTF-8", "-layout", str(path), "-")  # tables row by row
    return Truth(text, by_lines, pages=text.split("\f")[:-1])


def _pandoc(path: Path, form: str) -> Truth:
    said = output_of("pandoc", "-f", form, "-t", "json", str(path))
    truth = Truth(output_of("pandoc", "-f", form, "-t", "plain", "--wrap=none", str(path)))
    for block in _blocks(json.loads(said)["blocks"] if said else []):
        if block["t"] == "Header":
            level, _, inlines = block["c"]
            truth.headings.append((level, _words(inlines)))
        elif block["t"] == "Table":
            _, _, _, head, bodies, foot = block["c"]
            for row in [*head[1], *(row for body in bodies for row in (*body[2], *body[3])), *foot[1]]:
                if not any(each["t"] == "Table" for each in _blocks([cell[4] for cell in row[1]])):
                    truth.rows.append([_words(cell[4]) for cell in row[1]])
    return truth


def _blocks(found: Any) -> Iterator[dict[str, Any]]:
    """Yield the blocks of pandoc's tree in their order, without what is in tables."""
    if isinstance(found, list):
        for each in found:
            yield from _blocks(each)
    elif isinstance(found, dict):
        yield found
        if found.get("t") != "Table":
            yield from _blocks(found.get("c"))


def _words(found: Any) -> str:
    """Return the words below a node of pandoc's tree, without notes."""
    if isinstance(found, list):
        return "".join(map(_words, found))
    if not isinstance(found, dict):
        return ""
    kind, content = found.get("t"), found.get("c")
    if kind == "Str":
        return str(content)
    if kind in ("Space", "SoftBreak", "LineBreak"):
        return " "
    if kind in ("Code", "Math", "RawInline", "CodeBlock", "RawBlock"):
        return str(content[1]) if kind not in ("RawInline", "RawBlock") else ""
    if kind == "Note":
        return ""
    after = " " if kind in ("Para", "Plain", "Header") else ""
    return _words(content) + after


def _pptx(path: Path) -> Truth:
    from pptx import Presentation  # pip install python-pptx
    from pptx.enum.shapes import MSO_SHAPE_TYPE

    truth = Truth("")

    def read(shapes: Any) -> Iterator[str]:
        for shape in shapes:
            if shape.shape_type == MSO_SHAPE_TYPE.GROUP:
                yield from read(shape.shapes)
            elif getattr(shape, "has_text_frame", False) and shape.has_text_frame:
                yield shape.text_frame.text.replace("\v", " ")
            elif getattr(shape, "has_table", False) and shape.has_table:
                for row in shape.table.rows:
                    cells = [cell.text.replace("\v", " ") for cell in row.cells]
                    truth.rows.append(cells)
                    yield "\n".join(cells)

    for slide in Presentation(str(path)).slides:
        parts = list(read(slide.shapes))
        title = slide.shapes.title
        if title is not None and title.text_frame.text.strip():
            truth.headings.append((2, title.text_frame.text.replace("\v", " ")))
        if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
            parts.append(slide.notes_slide.notes_text_frame.text.replace("\v", " "))
        truth.pages.append("\n".join(parts))
    truth.text = "\n".join(truth.pages)
    return truth


def _xlsx(path: Path) -> Truth:
    import openpyxl  # pip install openpyxl

    truth = Truth("")
    for sheet in openpyxl.load_workbook(path, data_only=True).worksheets:
        for row in sheet.iter_rows():
            for cell in row:
                if cell.value is not None and (words := stored(cell.value)).strip():
                    truth.cells[(sheet.title, cell.row, cell.column)] = words
    truth.text = "\n".join(truth.cells.values())
    return truth


def stored(value: Any) -> str:
    """Return a value of openpyxl in the form that kgfs promises: shortest numbers, dates in ISO 8601."""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e16 else repr(value)
    if isinstance(value, datetime.datetime):
        value = (value + datetime.timedelta(milliseconds=500)).replace(microsecond=0)
        return value.date().isoformat() if value.time() == datetime.time() else value.isoformat()
    if isinstance(value, datetime.time):
        return value.replace(microsecond=0).isoformat()
    return str(value)


def _delimited(path: Path) -> Truth:
    content = path.read_bytes()
    marked = content.startswith((b"\xff\xfe", b"\xfe\xff"))
    text = content.decode("utf-16" if marked else "utf-8", "replace").removeprefix("\ufeff")
    sample = text[: 1 << 14]
    separator = (
        "\t" if path.suffix.lower() == ".tsv" else max(",;\t|", key=lambda each: (sample.count(each), each == ","))
    )
    truth = Truth(text)
    csv.field_size_limit(1 << 30)
    for number, row in enumerate(csv.reader(io.StringIO(text, newline=""), delimiter=separator), 1):
        for column, words in enumerate(row, 1):
            if words.strip():
                truth.cells["", number, column] = words
    return truth


def _encoding(content: bytes) -> str | None:
    """Return UTF-8 where the bytes are that, whatever they declare; None lets html5lib find the encoding."""
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return "utf-8"


def _html(content: bytes) -> Truth:
    from bs4 import BeautifulSoup  # pip install beautifulsoup4 html5lib

    tree = BeautifulSoup(content, "html5lib", from_encoding=_encoding(content))
    body: Any = tree.body or tree
    for hidden in body.find_all(NOT_SHOWN):
        hidden.decompose()
    for drawing in body.find_all("svg"):
        drawing.replace_with(" ".join(label.get_text(" ") for label in drawing.find_all("text")))
    truth = Truth("")
    for each in body.find_all(BLOCKS):
        each.insert_before("\n")
        each.insert_after("\n")
    truth.text = body.get_text("")
    for each in body.find_all(["h1", "h2", "h3", "h4", "h5", "h6"]):
        if each.find_parent(["nav", "footer", "aside", "menu"]) is None:  # which are kept as furniture
            truth.headings.append((int(each.name[1]), each.get_text("")))
    for each in body.find_all("table"):
        inner = each.find(["table", "h1", "h2", "h3", "h4", "ul", "ol", "pre", "form"])
        rows = [row.find_all(["td", "th"]) for row in each.find_all("tr")]
        if inner is None and max(map(len, rows), default=0) > 1:  # else it lays out the page
            truth.rows += [[cell.get_text("") for cell in row] for row in rows]
    return truth
