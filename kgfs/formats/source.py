"""Program source and data in lines: each run of lines without a blank one is a code block.

Of languages whose comments are read (:data:`PROGRAMS`) comments are blocks of their own, and definitions begin sections.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from kgfs.domain.names import extension_of
from kgfs.domain.text import Block, Text
from kgfs.formats import python_source, token_source
from kgfs.formats.code import is_code
from kgfs.formats.contract import Format
from kgfs.formats.decoding import decode
from kgfs.formats.lines import Line, lines_of, stretches
from kgfs.formats.outline import LARGEST, Outline, blocks_of
from kgfs.formats.titles import title_of

EXTENSIONS = frozenset(
    [
        "py",
        "js",
        "ts",
        "tsx",
        "jsx",
        "c",
        "h",
        "pyi",
        "mjs",
        "cjs",
        "cxx",
        "hh",
        "hxx",
        "cc",
        "cpp",
        "hpp",
        "cs",
        "java",
        "kt",
        "go",
        "rs",
        "rb",
        "php",
        "pl",
        "lua",
        "swift",
        "scala",
        "sh",
        "bash",
        "zsh",
        "fish",
        "ps1",
        "bat",
        "sql",
        "r",
        "jl",
        "hs",
        "ml",
        "json",
        "jsonl",
        "ndjson",
        "toml",
        "yaml",
        "yml",
        "ini",
        "cfg",
        "conf",
        "xml",
        "svg",
        "css",
        "scss",
        "tex",
        "bib",
        "diff",
        "patch",
        "lock",
        "cmake",
        "mk",
    ]
)


@dataclass(frozen=True, slots=True)
class Program:
    """A programming language whose comments are read."""

    media_type: str
    lexer: str
    """The name of its lexer; '' for Python, which is parsed."""
    extensions: tuple[str, ...]


PROGRAMS: tuple[Program, ...] = (
    Program("text/x-python", "", ("py", "pyi")),
    Program("text/x-c", "c", ("c", "h")),
    Program("text/x-c++", "cpp", ("cc", "cpp", "cxx", "hpp", "hh", "hxx")),
    Program("text/x-java", "java", ("java",)),
    Program("text/javascript", "javascript", ("js", "jsx", "mjs", "cjs")),
    Program("text/x-typescript", "typescript", ("ts", "tsx")),
    Program("text/x-go", "go", ("go",)),
    Program("text/x-rust", "rust", ("rs",)),
)
_BY_EXTENSION: Mapping[str, Program] = {end: program for program in PROGRAMS for end in program.extensions}
_BY_TYPE: Mapping[str, Program] = {program.media_type: program for program in PROGRAMS}
PLAIN = "text/plain"
_CPP = re.compile(r"^(?:class|namespace|template)\b", re.MULTILINE)
"""What a header of C does not have."""


def outline(media_type: str, source: str) -> Outline | None:
    """Return the comments and names of a source. None for what is no program, not valid, or too long."""
    program = _BY_TYPE.get(media_type)
    return None if program is None or len(source) > LARGEST else _outline(program, source)


@lru_cache(4)
def _outline(program: Program, source: str) -> Outline | None:
    if not program.lexer:
        return python_source.outline(source)
    is_header = program.lexer == "c" and _CPP.search(source)
    return token_source.outline(source, "cpp" if is_header else program.lexer)


def source_blocks(lines: Sequence[Line]) -> list[Block]:
    """Return one code block for each stretch of lines."""
    return stretches(lines, "code")


def source_signs(start: str) -> int:
    """Return 2, which is enough, for the beginning of a text that is program code, else 0."""
    return 2 if is_code(start) else 0


def read(name: str, content: bytes) -> Text:
    """Return the Text of program source or data."""
    decoded = decode(name, content)
    source = decoded.text
    program = _BY_EXTENSION.get(extension_of(name))
    found = outline(program.media_type, source) if program else None
    blocks = tuple(source_blocks(lines_of(source)) if found is None else blocks_of(source, found))
    title = title_of(name, source, blocks) if program is None else name.rpartition("/")[2]
    encoded = content if decoded.encoding == "utf-8" else source.encode("utf-8", "surrogatepass")
    digest = hashlib.sha256(encoded).hexdigest()
    media_type = program.media_type if program else PLAIN
    return Text(
        source,
        digest,
        FORMAT.parser,
        media_type,
        decoded.encoding,
        title,
        blocks,
        note=decoded.note,
        guessed_encoding=decoded.guessed,
    )


FORMAT = Format("source/3", PLAIN, EXTENSIONS, read, signs=source_signs)
