"""Gate: decide by the blocks of a Source whether it carries knowledge, and give the reason if not.

Code and tables are never judged and let their Source pass. Headings and rules are ignored beside prose. A block of prose
is refused if it is too short, if most of it is web addresses or emoji or it is furniture (menus, footers), if it has no
verb (where English grammar is loaded), or if it names none of the ontology's domains (where those are set).
A Source is gated when each of its judged blocks is refused for more than being short.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from types import MappingProxyType

from kgfs.domain.domains import ADDRESS, Domains, has_keyword
from kgfs.domain.text import BLOCK_VERDICTS, FURNITURE, MANY_BLOCKS, Block, Chunk, Text, Verdict

FEWEST_WORDS = 12
"""Least number of words between white space, and of ideographs; addresses are not counted."""

MOST_NOISE = 0.5
"""Largest share of addresses and emoji among the characters that are not white space."""

_EXEMPT = frozenset({"code", "table"})
_MAILS = ("message/rfc822", "application/mbox")
_SIGNATURE = re.compile(r"(?:--|__+)[ \t]*(?:\n|$)")
_DISCLAIMER = re.compile(
    r"(?:intended (?:solely|only|recipient)|privileged and confidential|confidential and privileged|unsubscribe|received this (?:e-?mail|message) in error)",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"(?:^[^\n]*:[ \t]*\n)?(?:^>[^\n]*(?:\n|\Z))+\Z", re.MULTILINE)
"""Quoted lines at the end of a block, and the line before them: "On Monday, Ann wrote:"."""
_SILENT = frozenset({"heading", "rule"})

_WHOLE_ADDRESS = re.compile(ADDRESS.pattern + r"\S*")
_EMOJI = re.compile(
    "[\u231a-\u23ff\u2600-\u27bf\u2b50\u2b55\u20e3\ufe0f\u200d\U0001f000-\U0001faff\U000e0020-\U000e007f]"
)
_IDEOGRAPH = re.compile("[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")

Verbs = Callable[[str], bool]
NO_DOMAINS: Domains = MappingProxyType({})


class _Flaw(IntEnum):
    """What is wrong with a block, by its number in BLOCK_VERDICTS."""

    NONE = 0
    SHORT = 1
    NOISE = 2
    VERBLESS = 3
    FOREIGN = 4


@dataclass(frozen=True, slots=True)
class _Finding:
    flaw: _Flaw
    reason: str = ""


@dataclass(frozen=True, slots=True)
class _Part:
    kind: str
    words: str
    start: int


@dataclass(frozen=True, slots=True)
class _Rules:
    verbs: Verbs | None
    domains: Domains


def judge(text: Text, chunk: Chunk, *, verbs: Verbs | None = None, domains: Domains = NO_DOMAINS) -> Verdict:
    """Return the verdict on one Source. ``verbs`` tells whether a passage has a verb."""
    return _judge(text, chunk, [block.start for block in text.blocks], _Rules(verbs, domains))


def judge_all(
    text: Text, chunks: Sequence[Chunk], *, verbs: Verbs | None = None, domains: Domains = NO_DOMAINS
) -> list[Verdict]:
    """Return the verdicts on all Sources of a document, in order."""
    starts, rules = [block.start for block in text.blocks], _Rules(verbs, domains)
    return [_judge(text, chunk, starts, rules) for chunk in chunks]


def judge_block(
    piece: str, kind: str = "paragraph", *, verbs: Verbs | None = None, domains: Domains = NO_DOMAINS
) -> str:
    """Return the verdict on one block: ``pass``, or the first reason that holds."""
    return BLOCK_VERDICTS[_judge_block(piece, kind, _Rules(verbs, domains)).flaw]


def _judge(text: Text, chunk: Chunk, starts: Sequence[int], rules: _Rules) -> Verdict:
    parts = list(_parts(text, chunk, starts))
    passes = any(part.kind in _EXEMPT for part in parts)
    parts = [part for part in parts if part.kind not in _EXEMPT and part.kind not in _SILENT]
    many = len(starts) > MANY_BLOCKS  # then the grammar is asked about no block behind one that passes
    found: list[_Finding] = []
    for part in parts:
        found.append(_judge_block(part.words, part.kind, replace(rules, verbs=None) if many and passes else rules))
        passes = passes or not found[-1].flaw
    judged = _listed(text, chunk, zip(parts, found, strict=True), joined=many)
    if passes or not parts:
        return Verdict(True, judged=judged)
    serious: list[_Finding] = []
    for part, one in zip(parts, found, strict=True):
        also = _besides_length(part.words, part.kind, rules) if one.flaw is _Flaw.SHORT else one
        if not also.flaw:
            short = (
                one.flaw is _Flaw.SHORT or part.kind == "furniture" for part, one in zip(parts, found, strict=True)
            )
            return Verdict(True, only_short=all(short), judged=judged)
        serious.append(also)
    worst = max(serious, key=lambda one: sum(other.flaw is one.flaw for other in serious))
    shown = f"{len(serious)} blocks, mostly " if len(serious) > 1 else ""
    return Verdict(False, shown + worst.reason, judged=judged)


def _listed(
    text: Text, chunk: Chunk, found: Iterable[tuple[_Part, _Finding]], *, joined: bool
) -> tuple[tuple[int, int, int], ...]:
    """Return the first and the last line of each block, with the number of its verdict."""
    listed: list[tuple[int, int, int]] = []
    line, at = chunk.line_start, chunk.start
    for part, one in found:
        line += text.text.count("\n", at, part.start)
        at = part.start
        last = line + part.words.count("\n")
        if joined and listed and listed[-1][2] == one.flaw:
            listed[-1] = (listed[-1][0], last, int(one.flaw))
        else:
            listed.append((line, last, int(one.flaw)))
    return tuple(listed)


def _parts(text: Text, chunk: Chunk, starts: Sequence[int]) -> Iterator[_Part]:
    """Yield each block's part within the chunk, without white space around it."""
    for n in range(max(0, bisect_right(starts, chunk.start) - 1), bisect_left(starts, chunk.end)):
        block = text.blocks[n]
        start = max(block.start, chunk.start)
        piece = text.text[start : min(block.end, chunk.end)]
        if words := piece.strip():
            yield _Part(block.kind, words, start + piece.index(words))


def _judge_block(piece: str, kind: str, rules: _Rules) -> _Finding:
    if kind != "furniture" and (words := _tokens(piece)) < FEWEST_WORDS:
        return _Finding(_Flaw.SHORT, f"too short: {words} words besides addresses, at least {FEWEST_WORDS} are needed")
    return _besides_length(piece, kind, rules)


def _besides_length(piece: str, kind: str, rules: _Rules) -> _Finding:
    if kind == "furniture":
        return _Finding(_Flaw.NOISE, FURNITURE)
    noise = _noise(piece)
    if noise > MOST_NOISE:
        return _Finding(_Flaw.NOISE, f"{noise:.0%} addresses or emoji, more than {MOST_NOISE:.0%}")
    if rules.verbs is not None and kind != "meta" and not rules.verbs(piece):
        return _Finding(_Flaw.VERBLESS, "no verb: names or numbers without a statement")
    if rules.domains and not any(has_keyword(piece, keywords) for keywords in rules.domains.values()):
        return _Finding(_Flaw.FOREIGN, f"names none of the domains {', '.join(rules.domains)}")
    return _Finding(_Flaw.NONE)


def _tokens(piece: str) -> int:
    """Return the number of words between white space, and of characters of scripts without spaces, outside addresses."""
    words = _WHOLE_ADDRESS.sub(" ", piece)
    return len(words.split()) + len(_IDEOGRAPH.findall(words))


def furniture_of(text: Text) -> list[Block]:
    """Return the blocks that nothing is extracted from, in order: furniture, and of mails the fields of headers, the lists of
    attachments, signatures, quoted text and disclaimers."""
    if text.media_type not in _MAILS:
        return [block for block in text.blocks if block.kind == "furniture"]
    found: list[Block] = []
    signed = False
    for block in text.blocks:
        words = text.text[block.start : block.end]
        signed = block.kind not in ("heading", "meta") and (signed or bool(_SIGNATURE.match(words)))
        if signed or block.kind in ("furniture", "meta", "quote") or _DISCLAIMER.search(words):
            found.append(block)
        elif quoted := _QUOTED.search(words):
            found.append(replace(block, start=block.start + quoted.start()))
    return found


def without(words: str, furniture: Sequence[Block], start: int, end: int) -> str:
    """Return a part of a text in which each character of furniture is a space, so that offsets stay."""
    piece = words[start:end]
    for block in furniture[bisect_right(furniture, start, key=lambda found: found.end) :]:
        if block.start >= end:
            break
        first, last = max(block.start, start) - start, min(block.end, end) - start
        piece = piece[:first] + " " * (last - first) + piece[last:]
    return piece


def _noise(piece: str) -> float:
    """Return the share of addresses and emoji among the characters that are not white space."""
    shown = sum(map(len, piece.split()))
    noise = sum(map(len, ADDRESS.findall(piece))) + len(_EMOJI.findall(ADDRESS.sub("", piece)))
    return noise / shown if shown else 0.0
