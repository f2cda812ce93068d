"""Program code, told by the look of its lines, and the names that it defines. All functions are pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

CODE_LINES, ALONE = 0.4, 0.6
"""The share of a file's lines that look like code, from which it is code: where it defines something, and where it does not."""
SCANNED = 400
"""Lines from the beginning that decide this."""

_KEYWORDS = r"""^[ \t]*(?:(?:pub(?:\([\w:\s]*\))?|export|default|async|public|private|protected|internal|static|final|abstract
        |override|virtual|inline|constexpr|extern(?:\s*"C")?|unsafe|sealed|partial|open|data|template\s*<[^>]*>|local|declare
        |const)\s+)*
    (?:(?:def|class|fn|struct|enum|trait|mod|union|namespace|interface|fun|func|function|sub|module|object|protocol|record
        |type|typedef\s+(?:struct|union|enum))\s+(?:\([^)]*\)\s*)?(?P<word>[A-Za-z_~$][\w:~$]*)
      |macro_rules!\s*(?P<macro>\w+)
      |impl\b(?:\s*<[^{]*?>)?\s+(?P<impl>[\w:]+)
      |\#\s*define\s+(?P<define>\w+)
      |(?:const|let|var)\s+(?P<arrow>[\w$]+)\s*=\s*(?:async\s*)?(?:\([^)]*\)|\w+)\s*=>"""
_CALL = r"""
      |(?P<rtype>[A-Za-z_][\w:<>,*& \t\[\]]*?[ \t*&])(?P<call>~?[A-Za-z_][\w:~]*)\s*\([^;=\n]*$"""
DEFINITION = re.compile(f"{_KEYWORDS})", re.VERBOSE | re.MULTILINE)
"""A line that defines something, by its keyword."""
_DEFINED = re.compile(f"{_KEYWORDS}{_CALL})", re.VERBOSE | re.MULTILINE)
"""The same, or by its form: a type, a name and a parenthesis."""
_NOT_NAMES = frozenset(
    """if else for while switch return catch new delete sizeof throw case do in of not and or is elif except with raise assert
    yield await import from use using include end then def class""".split()  # noqa: SIM905  # as people read it
)
_CODE_LINE = re.compile(
    r"[{};]\s*(?://.*|/\*.*)?$|^\s*(?:[})\]]|#\s*(?:include|define|if|ifdef|ifndef|endif|pragma)|import\s|from\s+[\w.]+\s+import"
    r"|use\s+[\w:]+|def\s+\w+\s*\(|class\s+\w+[:(]|@\w|//|/\*|\*\s|return\b|self\.|if\s.*:$|for\s.*:$|else:|elif\s.*:$|try:|[\w.\[\]]+\s*[-+*/|&]?=\s)"
    r"|[({\[,]\s*$|^\s*[\w.]+\(.*\)$"
)


BEGINNING = SCANNED * 80
"""Characters that these lines have at most."""


def is_code(text: str) -> bool:
    """Return whether a text is program code, by the share of its lines that look like code."""
    share = _code_lines(text)
    return share >= CODE_LINES and (share >= ALONE or _DEFINED.search(text) is not None)


def may_be_code(beginning: str) -> bool:
    """Return whether a text with these first BEGINNING characters may be program code; False only where it is none."""
    return _code_lines(beginning) >= CODE_LINES


def _code_lines(text: str) -> float:
    lines = [line for line in text[:BEGINNING].split("\n", SCANNED)[:SCANNED] if line.strip()]
    return sum(_CODE_LINE.search(line) is not None for line in lines) / max(1, len(lines))


def names_defined(text: str) -> Iterator[str]:
    """Yield the names that code defines, in order, each as often as it is defined."""
    for found in _DEFINED.finditer(text):
        named = (found["word"], found["macro"], found["impl"], found["define"], found["arrow"])
        name = next(filter(None, named), "")
        if not name and found["call"] and found["rtype"].split()[0] not in _NOT_NAMES:
            name = found["call"]
        name = name.rpartition("::")[2]
        if name and name not in _NOT_NAMES:
            yield name
