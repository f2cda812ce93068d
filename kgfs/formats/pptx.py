"""Presentations (PPTX): the shapes of each slide, tables, charts, alternative texts and speaker notes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kgfs.errors import UnreadableTextError
from kgfs.formats.contract import Format
from kgfs.formats.numerals import numeral, whole_number
from kgfs.formats.package import Package, attribute, chart_labels, child, holds_part, local, unescaped
from kgfs.formats.pieces import Piece, cell_of, heading, table

_FURNITURE = frozenset({"ftr", "sldNum", "dt", "hdr"})
_TITLES = frozenset({"title", "ctrTitle"})
_NUMERALS = {"alphaLc": "a", "alphaUc": "A", "romanLc": "i", "romanUc": "I"}
_SHAPES = frozenset({"grpSp", "AlternateContent", "Choice", "spTree"})


def pieces(content: bytes) -> Iterator[Piece]:
    package = Package(content)
    main = next((t for kind, t in package.relations("").values() if kind == "officeDocument"), "ppt/presentation.xml")
    root = package.xml(main)
    listed = child(root, "sldIdLst")
    if root is None:
        raise UnreadableTextError("damaged: its list of slides cannot be read")
    relations = package.relations(main)
    slides = [relations.get(_relation(each), ("", ""))[1] for each in (listed if listed is not None else ())]
    yield Piece("", facts={"title": package.title(), "pages": len(slides)})
    for number, name in enumerate(slides, 1):
        yield Piece("", place={"slide": number})
        yield from _Slide(package, name).pieces()
    yield Piece("", facts={"note": package.note() or ("" if slides else "it has no slides. The original is kept.")})


class _Slide:
    def __init__(self, package: Package, name: str) -> None:
        self._package = package
        self._name = name
        self._relations = package.relations(name)

    def pieces(self) -> Iterator[Piece]:
        tree = child(child(self._package.xml(self._name), "cSld"), "spTree")
        found = list(self._shapes(tree)) if tree is not None else []
        yield from (piece for piece in found if piece.kind == "heading")
        yield from (piece for piece in found if piece.kind != "heading")
        for kind, target in self._relations.values():
            if kind == "notesSlide":
                notes = child(child(self._package.xml(target), "cSld"), "spTree")
                words = "\n".join(
                    piece.text
                    for shape in (notes if notes is not None else ())
                    if _placeholder(shape) not in (*_FURNITURE, "sldImg")
                    for piece in self._shape(shape)
                )
                if words.strip():
                    yield Piece("paragraph", f"Notes: {words}")
            elif kind == "comments":
                comments = self._package.xml(target)
                for each in comments.iter() if comments is not None else ():
                    if local(each) == "text" and each.text:
                        yield Piece("paragraph", f"Comment: {each.text}")

    def _shapes(self, tree: Any) -> Iterator[Piece]:
        for shape in tree:
            if local(shape) in _SHAPES:
                yield from self._shapes(shape)
            elif local(shape) != "Fallback":
                yield from self._shape(shape)

    def _shape(self, shape: Any) -> Iterator[Piece]:
        role = _placeholder(shape)
        properties = next((found for found in shape.iter() if local(found) == "cNvPr"), None)
        if words := attribute(properties, "descr").strip():
            yield Piece("paragraph", f"![{cell_of(words)}]")
        for element in shape.iter():
            name = local(element)
            if name == "tbl":
                rows = [
                    [" ".join(_paragraphs(cell)) for cell in row if local(cell) == "tc"]
                    for row in element
                    if local(row) == "tr"
                ]
                if words := table(rows):
                    yield Piece("table", words)
            elif name == "chart" or name == "relIds":
                _, target = self._relations.get(attribute(element, "id") or attribute(element, "dm"), ("", ""))
                if words := chart_labels(self._package.xml(target)):
                    yield Piece("paragraph", words)
        body = child(shape, "txBody")
        lines = _paragraphs(body) if body is not None else []
        if not lines:
            return
        if role in _TITLES:
            yield heading(" ".join(lines), 1 if role == "ctrTitle" else 2)
        elif role in _FURNITURE:
            yield Piece("furniture", "\n".join(lines))
        elif len(lines) > 1 and role in ("body", "", "obj", "subTitle"):
            yield Piece("list", "\n".join(f"- {line}" for line in lines))
        else:
            yield Piece("paragraph", "\n".join(lines))


def _relation(element: Any) -> str:
    """Return the id of an element's relation, which stands beside an ``id`` of its own, in either of the namespaces."""
    return next((str(value) for key, value in element.attrib.items() if key.endswith("}id")), "")


def _placeholder(shape: Any) -> str:
    """Return the role of a shape: the type of its placeholder, '' if it has none."""
    if local(shape) != "sp":
        return ""
    found = child(child(child(shape, "nvSpPr"), "nvPr"), "ph")
    return attribute(found, "type") or ("body" if found is not None else "")


def _paragraphs(body: Any) -> list[str]:
    lines = []
    counts: dict[int, int] = {}
    for paragraph in body.iter():
        if local(paragraph) != "p":
            continue
        parts = []
        for each in paragraph.iter():
            if local(each) == "t":
                parts.append(unescaped(each.text))
            elif local(each) in ("br", "tab"):
                parts.append(" ")
        words = "".join(parts).strip()
        properties = child(paragraph, "pPr")
        automatic = child(properties, "buAutoNum")
        level = attribute(properties, "lvl")
        depth = whole_number(level, 0)
        for other in [other for other in counts if other > depth or (other == depth and automatic is None)]:
            if words:
                del counts[other]
        if words and automatic is not None:
            start = attribute(automatic, "startAt")
            counts[depth] = counts.get(depth, whole_number(start, 1) - 1) + 1
            words = f"{_number(counts[depth], attribute(automatic, 'type'))} {words}"
        if words:
            lines.append(words)
    return lines


def _number(number: int, kind: str) -> str:
    """Write the number of a paragraph in one of PowerPoint's ways, such as ``alphaLcParenR``: ``a)``."""
    form = next((form for name, form in _NUMERALS.items() if kind.startswith(name)), "1")
    words = numeral(number, form)
    if kind.endswith("ParenBoth"):
        return f"({words})"
    return f"{words})" if kind.endswith("ParenR") else words if kind.endswith("Plain") else f"{words}."


def _is_pptx(content: bytes) -> bool:
    return holds_part(content, b"ppt/presentation", b"[Content_Types].xml")


FORMAT = Format(
    "pptx/3",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    frozenset({"pptx", "pptm", "ppsx"}),
    pieces=pieces,
    signature=_is_pptx,
    binary=True,
)
