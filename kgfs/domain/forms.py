"""The forms of a name: which differently written words are one form, and where a text has such a form.

Forms are equal but for case, number of the last word, hyphen or space, how accents are encoded, and characters of no width. A key is the folded form.
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

from kgfs.domain.word_forms import WORD, without_joiners

LONGEST = 12
"""The most words and signs of a form that is looked for in a text."""
TOGETHER = 50_000
"""The number of words and signs of a text from which on it is looked through in parts."""
ENDS = (".", "!", "?", ":", ";", "")
"""What ends a sentence, or is before the first one."""

_WITHIN = re.compile(r"\w\w")
_ATOM = re.compile(rf"{WORD.pattern}|[^\w\s\-‐‑]")
_GAP = re.compile(r"[^\S\n]*\n?[^\S\n]*|[\-‐‑](?:[^\S\n]*\n[^\S\n]*)?")
"""What may stand between two words of a form: space, at most one line's end, a hyphen."""
_BY_ENDING: Mapping[str, str] = {
    "": "alias atlas bias canvas https lens series species",
    "s": "abuse api avalanche cache cli cpu emoji excuse fuse gpu gui guru headache menu misuse niche npu pdu recluse refuse reuse"
    " ruse sku taxi tpu uri wiki",
    "es": "alias atlas bias canvas cargo echo embargo gas hero lens mosquito potato tomato tornado veto volcano",
}
"""Words whose plural has this ending, against the rules for words that end so."""
_IRREGULAR = {
    "axes": "axis",
    "children": "child",
    "indices": "index",
    "matrices": "matrix",
    "vertices": "vertex",
    "analyses": "analysis",
    "hypotheses": "hypothesis",
    "criteria": "criterion",
    "phenomena": "phenomenon",
    "men": "man",
    "women": "woman",
    "feet": "foot",
    "teeth": "tooth",
    "mice": "mouse",
    "shelves": "shelf",
    "halves": "half",
    "knives": "knife",
    "lives": "life",
    "quizzes": "quiz",
    **{f"{word}{ending}": word for ending, words in _BY_ENDING.items() for word in words.split()},
}
_HISSING = re.compile(r"(?:ss|x|ch|sh|zz|tz|[^\Waou\d_]us)es$")
"""Words that end in *es* only in the plural: classes, boxes, branches, statuses; not sizes, houses, clauses."""

Span = tuple[int, int]
Atom = tuple[int, int, str]
"""Start and end of a word or sign in a text, and its folded form."""
Known = Callable[[Collection[str]], tuple[Mapping[str, str], Collection[str]]]
"""Given keys, return the name of those that are a form, and those with which a longer form begins."""


def singular(norm: str) -> str:
    """Return a normalised label with its last word in the singular, by plain rules: 'decorators' becomes 'decorator'."""
    rest, space, word = norm.rpartition(" ")
    if word in _IRREGULAR:
        return rest + space + _IRREGULAR[word]
    if len(word) < 4 or not word.endswith("s") or word.endswith(("ss", "us", "is", "ous", "'s", "sis")):
        return norm
    if word.endswith("ies") and len(word) > 4:
        return norm[:-3] + "y"
    if _HISSING.search(word):
        return norm[:-2]
    return norm[:-1]


def plurals(norm: str) -> list[str]:
    """Return the normalised labels whose singular is ``norm``, itself among them."""
    rest, space, word = norm.rpartition(" ")
    irregular = [many for many, one in _IRREGULAR.items() if one == word]
    regular = [word, f"{word}s", f"{word}es", *([f"{word[:-1]}ies"] if word.endswith("y") else [])]
    forms = (rest + space + one for one in dict.fromkeys((*irregular, *regular)))
    return [form for form in forms if singular(form) == norm]


def form_key(form: str) -> str:
    """Return the key of a form: its words and signs, folded, with single spaces, the last one in the singular."""
    return singular(" ".join(word for _, _, word in _atoms(form)))


class Spans:
    """Spans of a text in 16 bytes each: a long text names its concepts at hundreds of thousands of places."""

    def __init__(self, spans: Iterable[Span] = ()) -> None:
        self._flat = array("Q")
        for start, end in spans:
            self.add(start, end)

    def add(self, start: int, end: int) -> None:
        """Add a span at the end."""
        self._flat.append(start)
        self._flat.append(end)

    def __iter__(self) -> Iterator[Span]:
        return zip(self._flat[::2], self._flat[1::2], strict=True)

    def __len__(self) -> int:
        return len(self._flat) // 2


def places_of(text: str, within: Sequence[Span], known: Known) -> dict[str, Spans]:
    """Return the places in a text that have a known form, by the name that ``known`` gives it, in order of the text.

    A place begins and ends with a word's or sign's own border, inside one of the spans ``within``. Places may contain
    one another: 'context manager' stands in 'asynchronous context manager' too. ``known`` is asked once for each
    number of words, and anew for each TOGETHER words and signs, so that memory stays flat.
    """
    found: dict[str, Spans] = {}
    runs: list[list[Atom]] = []
    atoms = 0
    for run in (run for start, end in within for run in _runs(text, start, end)):
        runs.append(run)
        atoms += len(run)
        if atoms >= TOGETHER:
            _find(runs, known, found)
            runs, atoms = [], 0
    _find(runs, known, found)
    for name in found:
        found[name] = Spans(sorted(found[name]))
    return found


def _find(runs: Sequence[Sequence[Atom]], known: Known, found: dict[str, Spans]) -> None:
    """Add the places in these runs to ``found``."""
    begun = [(run, at) for run in runs for at in range(len(run))]
    for count in range(1, LONGEST + 1):
        begun = [(run, at) for run, at in begun if at + count <= len(run)]
        if not begun:
            break
        phrases = [" ".join(word for _, _, word in run[at : at + count]) for run, at in begun]
        names, prefixes = known({*phrases, *map(singular, phrases)})
        further = []
        for (run, at), key in zip(begun, phrases, strict=True):
            name = names.get(singular(key)) or names.get(key)
            if name is not None:
                if name not in found:
                    found[name] = Spans()
                found[name].add(run[at][0], run[at + count - 1][1])
            if key in prefixes:
                further.append((run, at))
        begun = further


def known_among(forms: Mapping[str, str]) -> Known:
    """Return the function that :func:`places_of` asks, for forms by key."""
    beginnings: set[str] = set()
    for key in forms:
        words = key.split(" ")
        beginnings.update(" ".join(words[:count]) for count in range(1, len(words)))

    def known(keys: Collection[str]) -> tuple[Mapping[str, str], Collection[str]]:
        return {key: forms[key] for key in keys if key in forms}, {key for key in keys if key in beginnings}

    return known


def goes_on(text: str, at: int) -> bool:
    """Return whether a form may go on across a place between two words; none does across the end of a sentence."""
    before, behind = at, at
    while before > 0 and text[before - 1].isspace():
        before -= 1
    while behind < len(text) and text[behind].isspace():
        behind += 1
    return text[before - 1 : before] not in ENDS and _GAP.fullmatch(text, before, behind) is not None


def whole_words(text: str, start: int, end: int) -> Span:
    """Return a span without the parts of words at its ends."""
    while 0 < start < end and _WITHIN.match(text, start - 1):
        start += 1
    while start < end < len(text) and _WITHIN.match(text, end - 1):
        end -= 1
    return start, end


def either(first: Known, other: Known) -> Known:
    """Return the function that knows the forms of two; where both know one, the name of the first is given."""

    def known(keys: Collection[str]) -> tuple[Mapping[str, str], Collection[str]]:
        (names, begun), (further, also) = first(keys), other(keys)
        return {**further, **names}, {*begun, *also}

    return known


def _runs(text: str, start: int, end: int) -> Iterator[list[Atom]]:
    """Yield the words and signs of a span, parted where no form goes on."""
    run: list[Atom] = []
    for atom in _atoms(text, start, end):
        if run and not _GAP.fullmatch(text, run[-1][1], atom[0]):
            yield run
            run = []
        run.append(atom)
    if run:
        yield run


def _atoms(text: str, start: int = 0, end: int | None = None) -> Iterator[Atom]:
    for match in _ATOM.finditer(text, start, len(text) if end is None else end):
        yield match.start(), match.end(), unicodedata.normalize("NFKC", without_joiners(match[0])).casefold()
