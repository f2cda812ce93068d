"""Word documents (DOCX): paragraphs, headings, automatic numbers, tables, notes, comments, text boxes, headers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kgfs.errors import UnreadableTextError
from kgfs.formats.contract import Format
from kgfs.formats.docx_chunks import chunk_pieces
from kgfs.formats.docx_math import formula
from kgfs.formats.docx_numbering import Numbering
from kgfs.formats.grid import REPEATED
from kgfs.formats.numerals import whole_number
from kgfs.formats.package import Package, attribute, chart_labels, child, holds_part, local
from kgfs.formats.pieces import Piece, cell_of, heading, table

_BREAKS = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-", "ptab": "\t"}
_LEFT_OUT = frozenset({"del", "moveFrom", "Fallback", "pPr", "rPr", "instrText", "delText", "sectPr", "fldData"})
_ASIDE = frozenset({"drawing", "pict", "object", "txbxContent", "AlternateContent"})
_NOTES = {"footnoteReference": "", "endnoteReference": "e"}
DEEPEST = 5
"""Word documents within Word documents that are followed."""


def pieces(content: bytes) -> Iterator[Piece]:
    yield from _Document(Package(content)).pieces()


class _Document:
    def __init__(self, package: Package, depth: int = 0) -> None:
        self._package = package
        self._depth = depth
        root = package.relations("")
        self._main = next((target for kind, target in root.values() if kind == "officeDocument"), "word/document.xml")
        self._relations = package.relations(self._main)
        self._levels = _heading_levels(self._part("styles"))
        self._numbering = Numbering(self._part("numbering"), self._part("styles"))
        self._aside: list[Piece] = []
        """What stands beside the paragraph in work: text boxes, alternative texts, charts."""
        self._links: dict[str, str] = {}
        self._notes_met: dict[str, dict[str, int]] = {"": {}, "e": {}}
        """The numbers of footnotes and endnotes by their ids, in the order in which the text refers to them."""

    def _part(self, kind: str) -> Any | None:
        name = next((target for found, target in self._relations.values() if found == kind), "")
        return self._package.xml(name) if name else None

    def pieces(self) -> Iterator[Piece]:
        root = self._package.xml(self._main)
        body = child(root, "body")
        if body is None:
            raise UnreadableTextError("damaged: its text cannot be read")
        yield Piece("", facts={"title": self._package.title()})
        for kind in ("header", "footer"):
            yield from self._furniture(kind)
        yield from self._blocks(body)
        for kind, prefix, element in (("footnotes", "", "footnote"), ("endnotes", "e", "endnote")):
            yield from self._notes(kind, prefix, element)
        yield from self._comments()
        if self._links:
            lines = [f"- {words}: {target}" for target, words in self._links.items()]
            yield Piece("furniture", "\n".join(["Links:", *lines]))
        yield Piece("", facts={"note": self._package.note()})

    def _furniture(self, kind: str) -> Iterator[Piece]:
        given: set[str] = set()
        for found, target in self._relations.values():
            root = self._package.xml(target) if found == kind else None
            lines = [self._words(each) for each in root.iter() if local(each) == "p"] if root is not None else []
            words = "\n".join(line for line in lines if line.strip())
            if words and words not in given:
                given.add(words)
                yield Piece("furniture", words)

    def _blocks(self, parent: Any) -> Iterator[Piece]:
        for element in parent:
            name = local(element)
            if name == "p":
                yield from self._paragraph(element)
            elif name == "tbl":
                yield from self._table(element)
            elif name in ("sdt", "sdtContent", "ins", "moveTo", "customXml", "smartTag"):
                yield from self._blocks(element)
            elif name == "altChunk":
                yield from self._foreign(element)

    def _foreign(self, element: Any) -> Iterator[Piece]:
        """Yield the blocks of a document in another format, which Word takes in when it opens this one."""
        _, name = self._relations.get(attribute(element, "id"), ("", ""))
        content = self._package.read(name) if name else None
        try:
            if content is not None and self._depth < DEEPEST:
                yield from chunk_pieces(name, content, lambda raw: _Document(Package(raw), self._depth + 1).pieces())
            elif content is not None:
                self._package.lost.append(name)
        except UnreadableTextError:
            self._package.lost.append(name)

    def _paragraph(self, element: Any) -> Iterator[Piece]:
        words = self._words(element).strip()
        properties = child(element, "pPr")
        style = attribute(child(properties, "pStyle"), "val")
        level = self._levels.get(style, 0)
        outline = attribute(child(properties, "outlineLvl"), "val")
        if (depth := whole_number(outline, 9)) < 9:
            level = depth + 1
        number, depth = self._numbering.next_label(properties, style)
        if words and level:
            yield heading(f"{number} {words}" if number != "-" else words, level)
        elif words and not number:
            yield Piece("paragraph", words)
        elif words or number not in ("", "-"):  # Word shows the number of an empty paragraph, too
            yield Piece("list", f"{'  ' * depth}{number} {words}".rstrip())
        aside, self._aside = self._aside, []
        yield from aside

    def _words(self, element: Any) -> str:
        """Return the words of a paragraph, and put what stands beside them aside."""
        parts: list[str] = []
        for each in element if element is not None else ():
            name = local(each)
            if name == "t" and each.text:
                parts.append(each.text)
            elif name in _BREAKS:
                parts.append(_BREAKS[name])
            elif name in _NOTES:
                parts.append(f"[^{self._note_label(_NOTES[name], attribute(each, 'id'))}]")
            elif name == "commentReference":
                parts.append(f"[^c{attribute(each, 'id')}]")
            elif name == "hyperlink":
                words = self._words(each)
                parts.append(words)
                _, target = self._relations.get(attribute(each, "id"), ("", ""))
                if target and target != words.strip():
                    self._links.setdefault(target, " ".join(words.split()))
            elif name in _ASIDE:
                self._put_aside(each)
            elif name == "oMath":
                parts.append(formula(each))
            elif name == "ruby":
                base, reading = (self._words(found) for found in (child(each, "rubyBase"), child(each, "rt")))
                parts.append(f"{base}({reading})" if reading.strip() else base)
            elif name and name not in _LEFT_OUT:
                parts.append(self._words(each))
        return "".join(parts)

    def _put_aside(self, element: Any) -> None:
        for each in element:
            name = local(each)
            if name == "txbxContent":
                kept, self._aside = self._aside, []
                found = list(self._blocks(each))
                self._aside = [*kept, *found]
            elif name == "docPr" and (words := attribute(each, "descr").strip()):
                self._aside.append(Piece("paragraph", f"![{cell_of(words)}]"))
            elif name == "chart":
                _, target = self._relations.get(attribute(each, "id"), ("", ""))
                if words := chart_labels(self._package.xml(target)):
                    self._aside.append(Piece("paragraph", words))
            elif name and name != "Fallback":
                self._put_aside(each)

    def _table(self, element: Any) -> Iterator[Piece]:
        rows: list[list[str]] = []
        nested: list[Piece] = []
        for row in element.iter():
            if local(row) != "tr" or _table_of(row) is not element:
                continue
            before = attribute(child(child(row, "trPr"), "gridBefore"), "val")
            cells = [""] * min(whole_number(before, 0), 63)
            for cell in (found for found in row.iter() if local(found) == "tc" and _table_of(found) is element):
                parts: list[Piece] = []
                for piece in self._blocks(cell):
                    (nested if piece.kind == "table" else parts).append(piece)
                words = " ".join(piece.text.lstrip("# ") for piece in parts)
                properties = child(cell, "tcPr")
                merged = child(properties, "vMerge")
                if merged is not None and attribute(merged, "val") != "restart" and not words:
                    above = rows[-1][len(cells)] if rows and len(cells) < len(rows[-1]) else ""
                    words = above if len(above) <= REPEATED else ""
                cells.append(words)
                span = attribute(child(properties, "gridSpan"), "val")
                cells += [""] * (min(whole_number(span, 1), 63) - 1)
            rows.append(cells)
        if words := table(rows):
            yield Piece("table", words)
        yield from nested

    def _notes(self, kind: str, prefix: str, name: str) -> Iterator[Piece]:
        notes = self._part(kind)
        for note in notes if notes is not None else ():
            if local(note) == name and attribute(note, "type") in ("", "normal"):
                words = " ".join(piece.text for piece in self._blocks(note))
                if words.strip():
                    yield Piece("paragraph", f"[^{self._note_label(prefix, attribute(note, 'id'))}]: {words}")

    def _note_label(self, prefix: str, id_: str) -> str:
        """Return the label of a note with the number that Word shows."""
        met = self._notes_met[prefix]
        return f"{prefix}{met.setdefault(id_, len(met) + 1)}"

    def _comments(self) -> Iterator[Piece]:
        root = self._part("comments")
        for comment in root if root is not None else ():
            words = " ".join(piece.text for piece in self._blocks(comment))
            if words.strip():
                author = attribute(comment, "author")
                yield Piece("paragraph", f"[^c{attribute(comment, 'id')}]: {author + ': ' if author else ''}{words}")


def _table_of(element: Any) -> Any | None:
    return next((found for found in element.iterancestors() if local(found) == "tbl"), None)


def _heading_levels(styles: Any | None) -> dict[str, int]:
    """Return the level of each style that makes headings, by the style's id, inherited ones included."""
    levels: dict[str, int] = {}
    parents: dict[str, str] = {}
    for style in styles if styles is not None else ():
        if local(style) != "style":
            continue
        id_ = attribute(style, "styleId")
        parents[id_] = attribute(child(style, "basedOn"), "val")
        name = attribute(child(style, "name"), "val").lower()
        outline = attribute(child(child(style, "pPr"), "outlineLvl"), "val")
        if name.startswith("heading ") and (level := whole_number(name[8:], -1)) >= 0:
            levels[id_] = level
        elif (depth := whole_number(outline, -1)) >= 0:
            levels[id_] = depth + 1 if depth < 9 else 0
        elif name == "title":
            levels[id_] = 1
    for id_ in parents:
        parent, seen = parents[id_], {id_}
        while id_ not in levels and parent and parent not in seen:
            if parent in levels:
                levels[id_] = levels[parent]
            seen.add(parent)
            parent = parents.get(parent, "")
    return levels


def _is_docx(content: bytes) -> bool:
    return holds_part(content, b"word/document", b"[Content_Types].xml")


FORMAT = Format(
    "docx/3",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    frozenset({"docx", "docm", "dotx"}),
    pieces=pieces,
    signature=_is_docx,
    binary=True,
)
