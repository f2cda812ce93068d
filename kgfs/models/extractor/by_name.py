"""Whether the first words of a noun phrase restrict its head, so that by its name alone it is a kind of what follows.

An "asynchronous context manager" is a context manager. A "former president" is none, a "first argument" or "larger
buffer" is no kind of its own, and after a verb ("running process") or a place ("lower tract") the rest is what it is
by chance. The lists are closed classes of English, whatever a text is about.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spacy.tokens import Doc

_NOMINAL = ("NOUN", "PROPN", "ADJ")
_GRADED = ("JJR", "JJS", "RBR", "RBS")
_PRIVATIVE = frozenset(
    """former fake virtual pseudo mock dummy imaginary alleged counterfeit fictitious hypothetical non anti sub ex quasi
    semi half near would-be so-called potential possible false failed deceased""".split()  # noqa: SIM905
)
_ORDINAL = frozenset(
    """first second third fourth fifth sixth seventh eighth ninth tenth last next previous final initial following
    preceding earlier later current present other another same different own such many few several more most less least
    certain various""".split()  # noqa: SIM905
)
_PLACE = frozenset(
    """upper lower left right inner outer top bottom front back rear middle central north south east west northern
    southern eastern western above below near far outside inside""".split()  # noqa: SIM905
)
_NOT_RESTRICTING = _PRIVATIVE | _ORDINAL | _PLACE


def restricts(doc: Doc, first: int, last: int) -> bool:
    """Return whether the tokens ``first:last`` are modifiers and a common noun, and the modifiers name a kind of it.

    Not where the first of them is a verb, a comparative, an ordinal, a place, or takes away what the noun says.
    """
    words = [word for word in doc[first:last] if not word.is_punct]
    if len(words) < 2 or words[-1].pos_ != "NOUN" or words[0].tag_.startswith("V"):
        return False
    if any(word.pos_ not in _NOMINAL and not word.tag_.startswith("V") for word in words):
        return False
    return not any(word.lower_ in _NOT_RESTRICTING or word.tag_ in _GRADED for word in words[:-1])
