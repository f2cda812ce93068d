"""The files of ``search/<words>/passages/``: ``results.md``, ``results.json``, and a file for each Source found.

``results.md`` is for people, ``results.json`` for programs. The words of the question are between marks, as quotes
are in ``source.txt``, and their lines start with `>`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Protocol
from urllib.parse import quote

from kgfs.domain.names import decode_name
from kgfs.domain.places import Locator, in_words
from kgfs.domain.word_forms import WORD, forms_of, plain, words_in
from kgfs.render.source import Marks
from kgfs.render.words import counted, fold, json_page, lines_of, rendered

EXCERPT = 320
"""Characters of a Source that ``results.md`` shows. The Source's own file has all of it."""

_AROUND_WORDS = re.compile(f"({WORD.pattern})")


@dataclass(frozen=True, slots=True)
class Shown:
    """A Source that was found. Paths are encoded as names are."""

    rank: int
    file: str
    """The name of its file in ``search/<words>/passages/``."""
    ontology: str
    """The name of the ontology."""
    folder: str
    """The path from the searched folder to the ontology's: '', or ``<Ontology>/``."""
    path: str
    """The path of the document below the ontology's folder."""
    note: str
    title: str
    score: float
    text_score: float
    cosine: float | None
    doc_id: str
    content_hash: str
    chunk_id: str
    text: str
    char_start: int
    char_end: int
    line_start: int
    line_end: int
    page: int | None
    section_path: tuple[str, ...]
    concepts: tuple[str, ...]
    """Directory names without ``.concept``."""
    entry: int | None = None
    """The entry of a transcript in which the words of the question stand, else that in which the Source begins."""
    locator: Locator = field(default_factory=dict)
    """Where in the original the piece with most of the words stands: page, slide, sheet and row, message or cell."""


@dataclass(frozen=True, slots=True)
class NamedFile:
    """A file that a question names."""

    doc_id: str
    path: str
    """From the searched folder."""


@dataclass(frozen=True, slots=True)
class NamedConcept:
    """A concept that a question names, or may mean."""

    name: str
    """The directory name, without ``.concept``."""
    label: str
    folder: str
    """The path from the searched folder to the ontology's: '', or ``<Ontology>/``."""

    @property
    def path(self) -> str:
        """Return the path of its page, from the searched folder."""
        return f"{self.folder}concepts/{self.name}.concept/concept.md"


@dataclass(frozen=True, slots=True)
class Near:
    """From where on results are only near what was asked."""

    word: str
    """A word of the question that few have."""
    rank: int
    """The result from which on none has it."""

    def at(self, rank: int) -> str:
        """Return the line that stands before the result with this rank; '' for none."""
        return f"Without the word “{self.word}”:\n" if rank == self.rank else ""

    def as_data(self) -> dict[str, object]:
        return {"without": self.word, "from_rank": self.rank}


def near_from(word: str, having: Sequence[bool], first: int, count: int) -> Near | None:
    """Return where on a page of ``count`` results, behind ``first`` others, those begin that lack a word; None where none do.

    ``having`` tells of all results, best first, whether they have it.
    """
    if not word or not any(having):
        return None
    last = max(at for at, has in enumerate(having) if has)
    begin = max(last + 1, first)
    return Near(word, begin + 1) if begin < first + count else None


@dataclass(frozen=True, slots=True)
class ResultPage:
    """The passages that a search found."""

    words: str
    ontology: str
    """The name of the searched ontology; '' for all."""
    hits: tuple[Shown, ...]
    only_text: str
    """Why meaning was not used; '' where it was."""
    wanted: str = ""
    """The words of the question without its filters: these are marked."""
    by_table: bool = False
    """Whether the index of words was not made yet."""
    within: tuple[str, ...] = ()
    """The searches in whose folders this one is."""
    near: Near | None = None


def results_md(page: ResultPage, marks: Marks) -> bytes:
    out = [f"{opening(page, counted(len(page.hits), 'passage') if page.hits else NOTHING)}.\n"]
    wanted, up = words_of(page.wanted), "../" * (3 + len(page.within))
    for hit in page.hits:
        section = f", {fold(' > '.join(hit.section_path))}" if hit.section_path else ""
        out.append(f"\n{line}" if page.near and (line := page.near.at(hit.rank)) else "")
        out.append(f"\n## {hit.rank}. {fold(hit.title) or hit.path}\n\n")
        out.append(
            f"[{hit.folder}{hit.path}]({link(f'{up}{hit.folder}{hit.path}')}), {lines_of(hit.line_start, hit.line_end)}{section}\n"
        )
        if hit.note:
            out.append(f"({hit.note})\n")
        out.append(f"\n> {marked(excerpt(hit.text, wanted), wanted, marks)}\n\n")
        out.append(f"The passage: [{hit.file}]({link(hit.file)}); score {hit.score:.3f}\n")
        if hit.concepts:
            out.append(concepts_line(hit.concepts, f"{up}{hit.folder}"))
    return rendered("".join(out))


class Answered(Protocol):
    """What pages of documents and of passages have in common."""

    @property
    def words(self) -> str: ...
    @property
    def within(self) -> tuple[str, ...]: ...
    @property
    def ontology(self) -> str: ...
    @property
    def only_text(self) -> str: ...
    @property
    def by_table(self) -> bool: ...


NOTHING = "Nothing found"


def opening(page: Answered, found: str) -> str:
    """Return the title of a page, and how much was ``found`` where, in which ways; without the stop."""
    where = f"in {page.ontology}" if page.ontology else "in all ontologies"
    ways = f"full text only ({page.only_text.rstrip('.')})" if page.only_text else "full text and meaning"
    yet = ". The index of words is being made: until then the order is a rough one" if page.by_table else ""
    return f"# {fold(' / '.join((*page.within, page.words)))}\n\n{found} {where}, by {ways}{yet}"


def question_data(page: Answered) -> dict[str, object]:
    """Return the fields that results.json begins with."""
    return {
        "words": page.words,
        "within": list(page.within),
        "ontology": page.ontology or None,
        "by": ["full text"] if page.only_text else ["full text", "meaning"],
        "only_text": page.only_text or None,
        "words_indexed": not page.by_table,
    }


def concepts_line(concepts: Sequence[str], up: str) -> str:
    """Return the line with links to concepts. ``up`` leads to the ontology's folder."""
    links = (f"[{name}]({link(f'{up}concepts/{name}.concept/concept.md')})" for name in concepts)
    return f"Concepts: {', '.join(links)}\n"


def results_json(page: ResultPage) -> bytes:
    return json_page(as_data(page))


def as_data(page: ResultPage) -> dict[str, object]:
    return question_data(page) | {
        "near": page.near.as_data() if page.near else None,
        "hits": [
            {
                "rank": hit.rank,
                "score": hit.score,
                "text_score": hit.text_score,
                "cosine": hit.cosine,
                "file": hit.file,
                "ontology": hit.ontology,
                "document": hit.path,
                "title": hit.title,
                "note": hit.note or None,
                "doc_id": hit.doc_id,
                "chunk_id": hit.chunk_id,
                "content_hash": hit.content_hash,
                "char_start": hit.char_start,
                "char_end": hit.char_end,
                "line_start": hit.line_start,
                "line_end": hit.line_end,
                "page": hit.page,
                "entry": hit.entry,
                "locator": hit.locator or None,
                "section_path": list(hit.section_path),
                "concepts": list(hit.concepts),
                "text": hit.text,
            }
            for hit in page.hits
        ],
    }


def passage(page: ResultPage, hit: Shown, marks: Marks) -> bytes:
    """Return ``NN~<name>.txt``: the whole Source, with the header, gutter and marks of ``source.txt``."""
    wanted = words_of(page.wanted)
    cosine = "" if hit.cosine is None else f", meaning {hit.cosine:.3f}"
    header = (
        f"file: {hit.folder}{hit.path}\n",
        f"note: {hit.note}\n" if hit.note else "",
        f"{lines_of(hit.line_start, hit.line_end).replace(' ', ': ')}\n",
        f"characters: {hit.char_start}:{hit.char_end}\n",
        f"place: {in_words(hit.locator)}\n" if hit.locator else "",
        f"entry: {hit.entry}\n" if hit.entry is not None else "",
        f"section: {fold(' > '.join(hit.section_path))}\n" if hit.section_path else "",
        f"document: {hit.doc_id}\n",
        f"score: {hit.score:.3f} (full text {hit.text_score:.3f}{cosine})\n",
        "\n",
    )
    lines = hit.text.removesuffix("\n").split("\n")
    width = len(str(hit.line_start + len(lines) - 1))
    body = []
    for number, line in enumerate(lines, hit.line_start):
        shown = marked(line, wanted, marks)
        body.append(f"{'>' if shown != line else ' '} {number:>{width}} | {shown}\n")
    return rendered("".join((*header, *body)))


# ------------------------------------------------------------------------------------------------------ words


FUNCTION_WORDS = frozenset(
    """a an and are as at be been but by can did do does for from had has have how i if in into is it its me my of on or our
    so such than that the their them then there these they this those to was we were what when where which who whom whose
    why will with would you your""".split()  # noqa: SIM905  # as people read and edit it
)
"""English words that shape a question and say nothing of its subject."""
BEHIND_HOW = frozenset("big deep far fast high large long many much often old soon tall".split())  # noqa: SIM905
"""Words that do so behind "how": together they are one question word."""


def telling(question: str) -> str:
    """Return the question without function words and isolated punctuation.

    Where nothing else is left, return the whole question.
    """
    told = set(telling_words(question))
    words = question.split()
    return " ".join([word for word in words if not told.isdisjoint(words_in(word))] or words)


def telling_words(question: str) -> list[str]:
    """Return the words of a question in order, without function words unless there are no others.

    Words are compared, not their stems: that of "does" is "doe".
    """
    words = words_in(question)
    plainly = [plain(word) for word in words]
    return [
        word
        for word, before, own in zip(words, ["", *plainly], plainly, strict=False)
        if own not in FUNCTION_WORDS and not (before == "how" and own in BEHIND_HOW)
    ] or words


def forms_asked(question: str) -> list[str]:
    """Return the forms that a question asks for, each once, in order; function words only where there are no others."""
    forms = list(dict.fromkeys(form for word in telling_words(question) for form in forms_of(word)))
    return [form for form in forms if form not in FUNCTION_WORDS] or forms


def words_of(question: str) -> frozenset[str]:
    """Return the forms of the question's words to mark, without function words unless there are no others."""
    return frozenset(forms_asked(question))


def marked(text: str, wanted: frozenset[str], marks: Marks) -> str:
    """Return a text with marks around the words that have one of the forms, as the index of words compares them. Words with one
    space between them stand between one pair of marks."""
    parts = _AROUND_WORDS.split(text)
    words = parts[1::2]
    shown = {word: f"{marks.start}{word}{marks.end}" for word in set(words) if not wanted.isdisjoint(forms_of(word))}
    if not shown:
        return text
    parts[1::2] = [shown.get(word, word) for word in words]
    found = [at for at, word in enumerate(words) if word in shown]
    for one, other in pairwise(found):  # neighbours share their marks: ==garbage collection==
        if other == one + 1 and parts[2 * other] == " ":
            parts[2 * one + 1] = parts[2 * one + 1].removesuffix(marks.end)
            parts[2 * other + 1] = parts[2 * other + 1].removeprefix(marks.start)
    return "".join(parts)


_RULES = re.compile(r"^[ \t]*[-=~^+|#*][-=~^+|#* \t]{2,}$", re.MULTILINE)


def excerpt(text: str, wanted: frozenset[str], length: int = EXCERPT) -> str:
    """Return the piece of about ``length`` characters with the most different words, on one line.

    Where the text has none of the words it is the start. Lines of rules alone, as below headings and around tables, are left
    out.
    """
    folded = fold(_RULES.sub("", text))
    if len(folded) <= length:
        return folded
    before = length // 4  # a quarter of what is shown stands before the first of the words
    best = densest(folded, wanted, length - before)
    start = max(0, min(best - before, len(folded) - length))
    begin = folded.rfind(" ", 0, start) + 1 if start else 0
    end = folded.find(" ", begin + length)
    cut = folded[begin : end if end >= 0 else len(folded)]
    return f"{'… ' if begin else ''}{cut}{' …' if end >= 0 else ''}"


def densest(text: str, wanted: frozenset[str], length: int = EXCERPT) -> int:
    """Return where the piece of ``length`` characters with the most different words begins; 0 where the text has none."""
    places = [(at.start(), form) for at in WORD.finditer(text) for form in forms_of(at[0]) if form in wanted]
    best, most = 0, 0
    for first, _ in places:
        different = len({word for at, word in places if first <= at < first + length})
        if different > most:
            best, most = first, different
    return best


def link(goal: str) -> str:
    """Return an encoded path as the target of a Markdown link."""
    return quote(decode_name(goal), safe="/~")
