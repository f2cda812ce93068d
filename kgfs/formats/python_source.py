"""The outline of Python source, by its syntax tree and its tokens."""

from __future__ import annotations

import ast
import io
import re
import tokenize
import warnings
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace

from kgfs.formats.outline import Comment, Defined, Kind, Outline, outline_of

_LINE = re.compile(r"[^\r\n]*(?:\r\n|[\r\n]|$)")
_QUOTES = re.compile(r"[A-Za-z]{0,2}(?:\"\"\"|'''|\"|')")
_PRAGMA = re.compile(r"#(?:!|\s*-\*-|\s*(?:noqa|type:|pragma|pylint|mypy|fmt:|isort|ruff|flake8|nosec|vim:|%%))")
_CONSTANT = re.compile(r"_*[A-Z][A-Z0-9_]+")


def outline(source: str) -> Outline | None:
    """Return the outline; None for what is not valid Python 3."""
    plain = source.removeprefix("\ufeff")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(plain)
        tokens = list(tokenize.generate_tokens(io.StringIO(plain).readline))
    except (SyntaxError, ValueError, RecursionError, MemoryError, tokenize.TokenError):
        return None
    lines = _Lines(source, len(source) - len(plain))
    docs: list[Comment] = []
    doc = _doc(tree, lines, docs)
    defined = list(_defined(tree.body, lines, docs, 1))
    comments = [*docs, *_comments(tokens, lines)]
    before = {lines.of(one.end): one for one in comments}
    return outline_of(source, comments, [_with_comment(one, lines, before) for one in defined], doc)


class _Lines:
    """Positions of a source by line, as the tree and the tokens count them."""

    def __init__(self, source: str, first: int) -> None:
        self.source = source
        self._starts = [first + found.start() for found in _LINE.finditer(source[first:])]

    def at(self, line: int, column: int) -> int:
        """Return the position of a column, in characters, of a line, from 1."""
        return min(self._starts[line - 1] + column, len(self.source))

    def at_byte(self, line: int, column: int) -> int:
        """Return the position of a column in bytes of UTF-8."""
        start = self._starts[line - 1]
        row = self.source[start : start + column]
        return self.at(line, column if row.isascii() else len(row.encode()[:column].decode("utf-8", "ignore")))

    def of(self, position: int) -> int:
        """Return the line of a position."""
        return bisect_right(self._starts, position)

    def end_of(self, line: int) -> int:
        following = self._starts[line] if line < len(self._starts) else len(self.source)
        return self._starts[line - 1] + len(self.source[self._starts[line - 1] : following].rstrip())


def _doc(
    node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef, lines: _Lines, docs: list[Comment]
) -> Comment | None:
    return _string(node.body[0], lines, docs) if node.body else None


def _string(node: ast.stmt, lines: _Lines, docs: list[Comment]) -> Comment | None:
    """Return the comment that a statement is which is only a string, and add it to ``docs``."""
    if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)):
        return None
    start = lines.at_byte(node.lineno, node.col_offset)
    end = lines.at_byte(node.end_lineno or node.lineno, node.end_col_offset or 0)
    opened = _QUOTES.match(lines.source, start, end)
    found = Comment(start, end, opened.end() if opened else start)
    docs.append(found)
    return found


def _defined(body: Sequence[ast.stmt], lines: _Lines, docs: list[Comment], level: int) -> Iterator[Defined]:
    for place, node in enumerate(body):
        following = body[place + 1] if place + 1 < len(body) else None
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
            start = lines.at(first, 0)
            while lines.source[start] in " \t\f":
                start += 1
            kind = Kind.CLASS if isinstance(node, ast.ClassDef) else Kind.FUNCTION
            found = _doc(node, lines, docs)
            end = min(lines.end_of(node.lineno), found.start if found else len(lines.source))
            yield Defined(node.name, kind, start, end, level, found, level > 1)
            if isinstance(node, ast.ClassDef):
                yield from _defined(node.body, lines, docs, level + 1)
        elif level == 1 and isinstance(node, ast.Assign | ast.AnnAssign):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            found = _string(following, lines, docs) if following is not None else None
            if isinstance(target, ast.Name) and _CONSTANT.fullmatch(target.id):
                start = lines.at(node.lineno, 0)
                yield Defined(target.id, Kind.CONSTANT, start, lines.end_of(node.lineno), level, found)


def _comments(tokens: Sequence[tokenize.TokenInfo], lines: _Lines) -> Iterator[Comment]:
    """Yield the comments that stand alone on their lines; those of adjacent lines in one column are one."""
    rows: list[tokenize.TokenInfo] = []
    for token in tokens:
        if token.type != tokenize.COMMENT or token.line[: token.start[1]].strip() or _PRAGMA.match(token.string):
            continue
        if rows and (token.start[0] != rows[-1].start[0] + 1 or token.start[1] != rows[-1].start[1]):
            yield _joined(rows, lines)
            rows = []
        rows.append(token)
    if rows:
        yield _joined(rows, lines)


def _joined(rows: Sequence[tokenize.TokenInfo], lines: _Lines) -> Comment:
    start, end = lines.at(*rows[0].start), lines.at(*rows[-1].end)
    mark = re.compile(r"#[#:]*").match(lines.source, start)
    return Comment(start, end, mark.end() if mark else start)


def _with_comment(one: Defined, lines: _Lines, before: dict[int, Comment]) -> Defined:
    """Return a definition with the comment directly above it as its documentation, where it has no other."""
    above = before.get(lines.of(one.start) - 1)
    if one.doc is not None or above is None or lines.source[above.start] != "#":
        return one
    return replace(one, doc=above)
