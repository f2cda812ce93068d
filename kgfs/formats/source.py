"""Program source and data in lines: each run of lines without a blank one is a code block."""

from __future__ import annotations

from kgfs.domain.text import Block
from kgfs.formats.code import is_code
from kgfs.formats.contract import text_format
from kgfs.formats.lines import Line, stretches

EXTENSIONS = frozenset(
    [
        "py",
        "js",
        "ts",
        "tsx",
        "jsx",
        "c",
        "h",
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
        "log",
        "lock",
        "cmake",
        "mk",
    ]
)


def source_blocks(lines: list[Line]) -> list[Block]:
    """Return one code block for each stretch of lines."""
    return stretches(lines, "code")


def source_signs(start: str) -> int:
    """Return 2, which is enough, for the beginning of a text that is program code, else 0."""
    return 2 if is_code(start) else 0


FORMAT = text_format("source/1", "text/plain", EXTENSIONS, source_blocks, source_signs)
