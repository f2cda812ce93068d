"""E-books (EPUB): the chapters in the order of the book's spine."""

from __future__ import annotations

from collections.abc import Iterator

from kgfs.errors import UnreadableTextError
from kgfs.formats.contract import Format
from kgfs.formats.html import decoded
from kgfs.formats.html_walk import Walk
from kgfs.formats.package import Package, holds_part, local, resolve
from kgfs.formats.pieces import Piece


def pieces(content: bytes) -> Iterator[Piece]:
    from selectolax.lexbor import LexborHTMLParser

    package = Package(content)
    container = package.xml("META-INF/container.xml")
    roots = (
        [each.get("full-path", "") for each in container.iter() if local(each) == "rootfile"]
        if container is not None
        else []
    )
    main = roots[0] if roots else next((name for name in package.names() if name.endswith(".opf")), "")
    root = package.xml(main)
    if root is None:
        raise UnreadableTextError("damaged: its list of chapters cannot be read")
    if "META-INF/encryption.xml" in package.names() and "META-INF/rights.xml" in package.names():
        raise UnreadableTextError("encrypted: give a copy without protection")
    elements = [each for each in root.iter() if local(each)]
    title = next((each.text or "" for each in elements if local(each) == "title"), "")
    items = {each.get("id", ""): each for each in elements if local(each) == "item"}
    chapters = [items.get(each.get("idref", "")) for each in elements if local(each) == "itemref"]
    yield Piece("", facts={"title": title})
    folder = main.rpartition("/")[0]
    walk = Walk(book=True)
    for chapter in chapters:
        raw = package.read(resolve(folder, chapter.get("href", ""))) if chapter is not None else None
        found = decoded(raw) if raw else None
        body = LexborHTMLParser(found.text).body if found else None
        if found and found.guessed:
            yield Piece("", facts={"guessed_encoding": found.guessed})
        if body is not None and chapter is not None:
            is_contents = "nav" in (chapter.get("properties") or "").split()
            for piece in walk.pieces(body, furniture=False):
                yield Piece("furniture", piece.text) if is_contents else piece
        yield Piece("")
    yield from walk.rest()
    yield Piece("", facts={"note": package.note()})


def _is_epub(content: bytes) -> bool:
    return holds_part(content, b"META-INF/container.xml")


FORMAT = Format("epub/3", "application/epub+zip", frozenset({"epub"}), pieces=pieces, signature=_is_epub, binary=True)
