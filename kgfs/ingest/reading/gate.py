"""Gate: decide by the blocks of a Source whether it carries knowledge, and give the reason if not.

Code and tables are never judged and let their Source pass. Headings and rules are ignored beside prose. Prose is
gated if it is furniture (menus, footers), if most of it is web addresses or emoji, if no sentence has a verb (where the language's grammar is loaded), if
it names nothing of the ontology's domains (where those are set), or if all prose of the Source together is too short (but not in a short document).
A Source is gated when all its judged blocks are.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum

from kgfs.domain.text import FURNITURE, Block, Chunk, Text, Verdict

FEWEST_WORDS = 12
"""Least number of words, numbers and ideographs; addresses are not counted."""

SHORT_DOCUMENT = 400

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

_URL = re.compile(r"(?:[a-zA-Z][a-zA-Z0-9+.-]{1,11}://|www\.|mailto:)[^\s<>\"'`]+")
_EMOJI = re.compile(
    "[\u231a-\u23ff\u2600-\u27bf\u2b50\u2b55\u20e3\ufe0f\u200d\U0001f000-\U0001faff\U000e0020-\U000e007f]"
)
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]|[^\W_]+(?:['’-][^\W_]+)*")

Verbs = Callable[[str], bool]


class _Flaw(IntEnum):
    NONE = 0
    NOISE = 1
    SHORT = 2
    VERBLESS = 3
    FOREIGN = 4


@dataclass(frozen=True, slots=True)
class _Finding:
    flaw: _Flaw
    reason: str = ""


def judge(text: Text, chunk: Chunk, *, verbs: Verbs | None = None, domains: Sequence[str] = ()) -> Verdict:
    """Return the verdict on one Source by itself. ``verbs`` tells whether a passage has a verb."""
    finding = _judge(text, chunk, _starts(text), verbs, domains)
    return Verdict(finding.flaw is _Flaw.NONE, finding.reason)


def judge_all(
    text: Text, chunks: Sequence[Chunk], *, verbs: Verbs | None = None, domains: Sequence[str] = ()
) -> list[Verdict]:
    """Return the verdicts on all Sources of a document, in order.

    A document is never gated for being short: if no Source passes, the Sources that are only short do. In a document of
    fewer than SHORT_DOCUMENT words none is gated for that.
    """
    starts = _starts(text)
    findings = [_judge(text, chunk, starts, verbs, domains) for chunk in chunks]
    if all(finding.flaw for finding in findings) or len(text.text.split()) < SHORT_DOCUMENT:
        findings = [_Finding(_Flaw.NONE) if finding.flaw is _Flaw.SHORT else finding for finding in findings]
    return [Verdict(finding.flaw is _Flaw.NONE, finding.reason) for finding in findings]


def _starts(text: Text) -> list[int]:
    return [block.start for block in text.blocks]


def _judge(text: Text, chunk: Chunk, starts: Sequence[int], verbs: Verbs | None, domains: Sequence[str]) -> _Finding:
    judged: list[_Finding] = []
    words = 0
    for kind, piece in _pieces(text, chunk, starts):
        if kind in _EXEMPT:
            return _Finding(_Flaw.NONE)
        if kind == "furniture":
            judged.append(_Finding(_Flaw.NOISE, FURNITURE))
        elif kind not in _SILENT:
            judged.append(_judge_block(piece, kind, verbs, domains))
            words += 0 if judged[-1].flaw is _Flaw.NOISE else len(_WORD.findall(_URL.sub(" ", piece)))
    passing = any(finding.flaw is _Flaw.NONE for finding in judged)
    if passing and words < FEWEST_WORDS:
        return _Finding(_Flaw.SHORT, f"too short: {words} words besides addresses, at least {FEWEST_WORDS} are needed")
    if passing or not judged:
        return _Finding(_Flaw.NONE)
    worst = max(judged, key=lambda finding: sum(other.flaw is finding.flaw for other in judged))
    shown = f"{len(judged)} blocks, mostly " if len(judged) > 1 else ""
    return _Finding(worst.flaw, shown + worst.reason)


def _pieces(text: Text, chunk: Chunk, starts: Sequence[int]) -> Iterator[tuple[str, str]]:
    """Yield (kind, words) of each block's part within the chunk."""
    for n in range(max(0, bisect_right(starts, chunk.start) - 1), bisect_left(starts, chunk.end)):
        block = text.blocks[n]
        piece = text.text[max(block.start, chunk.start) : min(block.end, chunk.end)]
        if piece.strip():
            yield block.kind, piece


def _judge_block(piece: str, kind: str, verbs: Verbs | None, domains: Sequence[str]) -> _Finding:
    noise = _noise(piece)
    if noise > MOST_NOISE:
        return _Finding(_Flaw.NOISE, f"{noise:.0%} addresses or emoji, more than {MOST_NOISE:.0%}")
    if verbs is not None and kind != "meta" and not verbs(piece):
        return _Finding(_Flaw.VERBLESS, "no verb: names or numbers without a statement")
    folded = piece.casefold()
    if domains and not any(domain.casefold() in folded for domain in domains):
        return _Finding(_Flaw.FOREIGN, f"names none of the domains {', '.join(domains)}")
    return _Finding(_Flaw.NONE)


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
    noise = sum(map(len, _URL.findall(piece))) + len(_EMOJI.findall(_URL.sub("", piece)))
    return noise / shown if shown else 0.0
