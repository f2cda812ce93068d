"""Parse: bytes → Text with structure, for every format that is text."""

from __future__ import annotations

import hashlib

from kgfs.domain.text import Text
from kgfs.ingest.reading.formats.decoding import decode
from kgfs.ingest.reading.structure.lines import lines_of
from kgfs.ingest.reading.structure.markup import markup_of
from kgfs.ingest.reading.structure.titles import title_of


def parse(name: str, content: bytes) -> Text:
    """The Text of a file called ``name`` (its path or last part; the extension helps to know the markup).

    The decoding is exact, ``text.encode(encoding) == content``, with byte-order mark and line ends. Time is linear in
    the size. UnreadableTextError names what the file seems to be and what can be done.
    """
    text, encoding = decode(name, content)
    markup = markup_of(name, text)
    blocks = tuple(markup.blocks(lines_of(text)))
    digest = hashlib.sha256(content if encoding == "utf-8" else text.encode("utf-8", "surrogatepass")).hexdigest()
    return Text(text, digest, markup.parser, markup.media_type, encoding, title_of(name, text, blocks), blocks)
