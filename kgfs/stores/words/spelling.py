"""Whether a form is spelled nearly like one that occurs."""

from __future__ import annotations

import numpy as np

from kgfs.stores.words.scoring import WordView
from kgfs.stores.words.segment import Array, Segment


def is_near(view: WordView, form: str, most: int, ontology: str = "") -> bool:
    """Return whether a Source has a form that at most ``most`` letters changed, left out, added or exchanged with the next
    make of ``form``, in one ontology or in all. Takes time in proportion to the number of forms of about its length."""
    wanted = np.frombuffer(form.encode("utf-8", "surrogatepass"), np.uint8)
    most = most if form.isascii() else 2 * most  # a letter has two bytes or more
    near = [segment.word(int(term)) for segment in view.segments for term in _near(segment, wanted, most)]
    return bool(view.occurring(near, ontology))


def _near(segment: Segment, wanted: Array, most: int) -> Array:
    """Return the numbers of the forms of a segment with at most ``most`` bytes of difference."""
    lengths = np.diff(segment.word_at)
    terms = np.flatnonzero(np.abs(lengths - len(wanted)) <= most)
    if not len(terms):
        return terms
    columns = len(wanted) + most
    at = np.minimum(segment.word_at[terms][:, None] + np.arange(columns), len(segment.words) - 1)
    letters = np.where(np.arange(columns) < lengths[terms][:, None], segment.words[at], 0).T  # no form has a byte 0
    distances = _distances(wanted, letters, most)[lengths[terms], np.arange(len(terms))]
    found: Array = terms[distances <= most]
    return found


def _distances(wanted: Array, letters: Array, most: int) -> Array:
    """Return how much each beginning of each word (a column of ``letters``) differs from ``wanted``, up to ``most`` + 1."""
    rows, words = letters.shape
    far = most + 1
    before = np.zeros((0, words), np.int8)
    last: Array = np.minimum(np.repeat(np.arange(rows + 1)[:, None], words, 1), far).astype(np.int8)
    for i in range(1, len(wanted) + 1):
        now = np.full((rows + 1, words), far, np.int8)
        now[0] = min(i, far)
        for j in range(max(1, i - most), min(rows, i + most) + 1):
            best = np.minimum(last[j - 1] + (letters[j - 1] != wanted[i - 1]), np.minimum(last[j], now[j - 1]) + 1)
            if i > 1 and j > 1:
                crossed = (letters[j - 2] == wanted[i - 1]) & (letters[j - 1] == wanted[i - 2])
                best = np.where(crossed, np.minimum(best, before[j - 2] + 1), best)
            now[j] = np.minimum(best, far)
        before, last = last, now
    return last
