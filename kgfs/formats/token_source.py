"""The outline of source in languages with braces, by a highlighter's tokens (Pygments)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import takewhile
from typing import Any

from kgfs.formats.outline import Comment, Defined, Kind, Outline, outline_of, tells

_DEFINERS = {
    "class": Kind.CLASS,
    "interface": Kind.CLASS,
    "enum": Kind.CLASS,
    "struct": Kind.CLASS,
    "union": Kind.CLASS,
    "trait": Kind.CLASS,
    "record": Kind.CLASS,
    "type": Kind.CLASS,
    "namespace": Kind.MODULE,
    "mod": Kind.MODULE,
    "fn": Kind.FUNCTION,
    "func": Kind.FUNCTION,
    "function": Kind.FUNCTION,
    "const": Kind.CONSTANT,
    "static": Kind.CONSTANT,
    "final": Kind.CONSTANT,
}
"""The words that a definition has before its name."""
_OPENING = frozenset(
    ("class", "interface", "enum", "struct", "union", "trait", "record", "namespace", "mod", "impl", "extern")
)
"""The words of what may hold further definitions in its braces."""
_SPACES = frozenset(("namespace", "mod", "extern"))
SPACE = "::"
"""What the name of braces begins with in which no members stand."""
_LINES_END = frozenset(("go", "javascript", "typescript"))
"""Languages in which a statement may end with its line."""
_ASSIGNED = frozenset(("javascript", "typescript"))
"""Languages in which functions are assigned to what names them."""
_TYPED = frozenset(("c", "cpp", "java"))
"""Languages in which a function is a name before a parenthesis."""
_ACCESS = frozenset(("public", "private", "protected"))
_MARK = re.compile(r"/\*+!?<?|//[/!]*<?")
_PRAGMA = re.compile(
    r"///?\s*<(?:reference|amd)|//\s*(?:go:|\+build|eslint|tslint|@ts-|prettier|NOLINT|clang-format|istanbul|#(?:end)?region|=+$)|/\*\s*(?:eslint|globals?|jshint|istanbul)\b"
)
_DEFINE = re.compile(r"#?\s*define\s+(?P<name>[A-Za-z_]\w*)")
_ATTRIBUTE = re.compile(r"#!?\[[^\n]*\][ \t]*\n?")
"""An attribute of Rust, on one line."""
_LAMBDA = re.compile(r"\s*(?::[^=\n]+)?=\s*(?:async\b|function\b|\([^)]*\)\s*(?::[^=\n]+)?=>|\w+\s*=>)")
_POINTER = re.compile(r"\(\s*\*")
"""What stands behind the type of a pointer to a function."""
_NAME = re.compile(r"[A-Za-z_$][\w$]*")


@dataclass(slots=True)
class _Header:
    """The tokens of a statement before its braces, value or end."""

    words: list[tuple[int, str, bool]] = field(default_factory=list)
    """Position, text, and whether it is a name, of each token outside parentheses; of these only the opening one."""
    doc: Comment | None = None
    value: bool = False
    """Whether a value follows, in which nothing is defined."""


def outline(source: str, lexer: str) -> Outline:
    """Return the outline by the tokens of the lexer of that name."""
    tokens = list(_tokens(source, lexer))
    comments = list(_comments(source, tokens))
    defined = list(_defined(source, lexer, tokens, {one.end: one for one in comments}))
    own = {one.doc.start for one in defined if one.doc is not None}
    first = next((one for one in comments if tells(source, one)), None)
    start = min((at for at, what, words in tokens if _is_begun(what, words)), default=len(source))
    doc = first if first is not None and first.start not in own and first.start < start else None
    return outline_of(source, comments, defined, doc)


def _is_begun(what: str, words: str) -> bool:
    """Return whether a token is part of the program itself, and no guard around a header."""
    if what in ("define", "preprocessor"):
        return words.lstrip("# ").startswith(("include", "import")) and "[" not in words
    return what in ("code", "name", "literal")


@cache
def _lexer(name: str) -> Any:
    from pygments.lexers import get_lexer_by_name  # loaded where source is read

    return get_lexer_by_name(name)


def _tokens(source: str, lexer: str) -> Iterator[tuple[int, str, str]]:
    """Yield position, kind and text of each token; the pieces of one comment are one."""
    held: tuple[int, str, str] | None = None
    for at, what, words in _kinds(source, lexer):
        if held is not None and what == "comment" and not words.startswith(("//", "/*")):
            held = (held[0], what, held[2] + words)
            continue
        if held is not None:
            yield held
        held = (at, what, words) if what == "comment" else None
        if held is None:
            yield at, what, words
    if held is not None:
        yield held


def _kinds(source: str, lexer: str) -> Iterator[tuple[int, str, str]]:
    """Yield position, kind (comment, define, name, code or space) and text of each token, without strings."""
    from pygments.token import Comment as CommentToken
    from pygments.token import Literal, Name, Whitespace

    for at, token, words in _lexer(lexer).get_tokens_unprocessed(source):
        if token in CommentToken.Preproc or token in CommentToken.PreprocFile:
            yield at, "define" if _DEFINE.match(words) else "preprocessor", words
        elif token in CommentToken or token in Literal.String.Doc:
            yield at, "comment", words
        elif token in Whitespace or not words.strip():
            yield at, "space", words
        elif token in Name.Decorator or token in Name.Attribute or token in Literal:
            yield at, "literal", words
        elif token in Name:
            yield at, "name", words
        else:
            yield at, "code", words


def _comments(source: str, tokens: Sequence[tuple[int, str, str]]) -> Iterator[Comment]:
    """Yield the comments that stand alone on their lines; line comments of adjacent lines are one."""
    run: Comment | None = None
    for at, what, words in tokens:
        if what != "comment":
            continue
        line = source.rfind("\n", 0, at) + 1
        if source[line:at].strip() or _PRAGMA.match(words):
            continue
        mark = _MARK.match(words)
        end = at + len(words.rstrip())
        if run is not None and words.startswith("//") and _next_line(source, run, at):
            run = Comment(run.start, end, run.marker)
            continue
        if run is not None:
            yield run
        run = Comment(at, end, at + (mark.end() if mark else 0))
    if run is not None:
        yield run


def _next_line(source: str, run: Comment, at: int) -> bool:
    between, marks = source[run.end : at], [_MARK.match(source, start) for start in (run.start, at)]
    same = len({mark[0] for mark in marks if mark}) == 1
    return same and source.startswith("//", run.start) and between.count("\n") == 1 and not between.strip()


def _defined(
    source: str, lexer: str, tokens: Sequence[tuple[int, str, str]], ends: dict[int, Comment]
) -> Iterator[Defined]:
    header, within = _Header(), list[str]()
    round_, last = 0, None
    for at, what, words in tokens:
        if what == "comment":
            last = ends.get(at + len(words.rstrip()), last)
            continue
        if what == "define" and not within and (found := _DEFINE.match(words)):
            doc = _documents(source, last, source.rfind("\n", 0, at) + 1)
            line = source.rfind("\n", 0, at) + 1
            if doc is not None:
                yield Defined(found["name"], Kind.CONSTANT, line, at + found.end(), 1, doc)
            continue
        if what in ("space", "preprocessor"):
            ends_line = "\n" in words and lexer in _LINES_END and not round_ and what == "space"
            if ends_line and all(within) and header.words and (header.value or lexer == "go"):
                if not header.value:
                    yield from _of_header(source, lexer, header, "\n", within)
                header = _Header()
            continue
        for sign in words if what == "code" and not words.isalnum() else (words,):
            if what != "code":
                if (
                    all(within)
                    and not round_
                    and not header.value
                    and (header.words or what == "name" or sign[0] == "@")
                ):
                    if not header.words:
                        header.doc = _documents(source, last, at)
                    header.words.append((at, sign, what == "name"))
            elif sign in "([":
                round_ += 1
                if sign == "(" and round_ == 1 and header.words and header.words[-1][1][0] != "@":
                    header.words.append((at, "(", False))
            elif sign in ")]":
                round_ = max(0, round_ - 1)
            elif sign == "{":
                opens = ""
                if not round_ and all(within):
                    if not header.value:
                        yield from _of_header(source, lexer, header, "{", within)
                        opens = _opened(header, lexer)
                    header = _Header(value=header.value)
                within.append(opens)
            elif sign == "}":
                if within:
                    within.pop()
                if all(within) and not (header.value and lexer in _TYPED):
                    header = _Header()
            elif all(within) and not round_:
                if sign == ";":
                    if not header.value:
                        yield from _of_header(source, lexer, header, sign, within)
                    header = _Header()
                elif sign == "=" and not header.value:
                    yield from _of_header(source, lexer, header, "=", within)
                    header.value = True
                elif sign == ":" and len(header.words) == 1 and header.words[0][1] in _ACCESS:
                    header = _Header()
                elif not header.value:
                    if not header.words:
                        header.doc = _documents(source, last, at)
                    header.words.append((at, sign, False))


def _documents(source: str, comment: Comment | None, at: int) -> Comment | None:
    """Return the comment if it stands directly before the position; a documentation comment may have a blank line
    behind it."""
    if comment is None or comment.end > at:
        return None
    between = _ATTRIBUTE.sub("", source[comment.end : at])
    lines = 2 if source.startswith("/**", comment.start) else 1
    return comment if not between.strip() and between.count("\n") <= lines else None


def _opened(header: _Header, lexer: str) -> str:
    """Return the name of what a header opens if further definitions may stand in it; else ''."""
    words = [word for _, word, _ in header.words]
    opening = next((word for word in words if word in _OPENING), "")
    if not opening or (lexer in ("c", "go") and opening != "extern") or ("(" in words and opening != "record"):
        return ""
    names = [word for _, word, is_name in header.words if is_name]
    if opening == "impl":
        behind = words[words.index("for") + 1 :] if "for" in words else words[words.index("impl") + 1 :]
        return next((word for word in behind if word in names), "") or "impl"
    name = names[0] if names else opening
    return f"{SPACE}{name}" if opening in _SPACES else name


def _of_header(source: str, lexer: str, header: _Header, ended: str, within: Sequence[str]) -> Iterator[Defined]:
    """Yield what a statement defines, given what its header ended with."""
    words = _without_template(header.words)
    found = _by_keyword(words, lexer, ended) or _by_parenthesis(source, words, lexer, ended, within, header.doc)
    if found is None and ended == "=" and header.doc is not None and lexer in _ASSIGNED and words[-1][2]:
        at, name, _ = words[-1]
        found = (at, name, Kind.FUNCTION) if _LAMBDA.match(source, at + len(name)) else None
    if found is None:
        return
    at, name, kind = found
    if kind is Kind.CONSTANT and _LAMBDA.match(source, at + len(name)):
        kind = Kind.FUNCTION
    if name in within or (kind is Kind.CONSTANT and header.doc is None):
        return
    start = header.words[0][0]
    line_end = source.find("\n", start)
    end = max(line_end if line_end >= 0 else len(source), at + len(name))
    end = start + len(source[start:end].rstrip())
    if SPACE + "tests" in within:
        return
    member = any(not one.startswith(SPACE) for one in within) or [word for _, word, _ in words[:2]] == ["func", "("]
    yield Defined(name, kind, start, end, len(within) + 1, header.doc, member=member)


def _without_template(words: list[tuple[int, str, bool]]) -> list[tuple[int, str, bool]]:
    """Return the tokens without ``template <…>``, and without the parameters in angle brackets of any name."""
    kept: list[tuple[int, str, bool]] = []
    depth = 0
    for word in words:
        if word[1] == "<":
            depth += 1
        elif word[1] == ">":
            depth = max(0, depth - 1)
        elif not depth and word[1] != "template":
            kept.append(word)
    return kept


def _by_keyword(words: list[tuple[int, str, bool]], lexer: str, ended: str) -> tuple[int, str, Kind] | None:
    texts = [word for _, word, _ in words]
    if lexer in _TYPED and "(" in texts and "record" not in texts:
        return None
    for place, (_, word, is_name) in enumerate(words):
        kind = _DEFINERS.get(word)
        if kind is None or is_name or (kind is Kind.CONSTANT and ended != "="):
            continue
        behind = words[place + 1 :]
        if lexer == "go" and word == "func" and behind and behind[0][1] == "(":
            behind = behind[1:]  # the receiver stood in the parentheses
        if kind is Kind.CONSTANT and lexer in _TYPED:
            names = [one for one in behind if one[2]]
            return (names[-1][0], names[-1][1], kind) if names else None
        named = next((one for one in behind if one[2] or one[1] not in ("class", "struct", "mut", "*", "async")), None)
        if lexer in ("c", "cpp") and named is not None:  # a macro may stand before the name
            run = takewhile(lambda one: one[2] and one[1] != "final", behind[behind.index(named) :])
            named = (named, *run)[-1]
        if named is None or not _NAME.fullmatch(named[1]):
            continue
        if ended == ";" and kind is Kind.CLASS and lexer in ("c", "cpp"):
            return None  # declared, or a variable of that type
        return named[0], named[1], kind
    if lexer == "rust" and texts[:1] == ["macro_rules!"] and len(words) > 1:
        return words[1][0], words[1][1], Kind.FUNCTION
    return None


def _by_parenthesis(
    source: str, words: list[tuple[int, str, bool]], lexer: str, ended: str, within: Sequence[str], doc: Comment | None
) -> tuple[int, str, Kind] | None:
    method = bool(within) and lexer in ("javascript", "typescript")
    if not (lexer in _TYPED or method) or (ended == ";" and doc is None) or ended not in "{;" or not ended:
        return None
    if any(word == "typedef" for _, word, _ in words):
        return None
    for place, (_, word, _) in enumerate(words):
        if word == "(" and place and words[place - 1][2] and not _POINTER.match(source, words[place][0]):
            at, name, _ = words[place - 1]
            typed = place > 1 or method
            return (at, name, Kind.FUNCTION) if typed and not name.isupper() else None
    return None
