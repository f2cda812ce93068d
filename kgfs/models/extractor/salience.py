"""The salience of each candidate of a passage: a weighted sum of features through a logistic curve.

The weights were fitted by logistic regression on the development halves of two public key-phrase collections, Inspec
and SemEval-2017 task 10 (see ``bench/quality.py`` for how the result is measured).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from kgfs.models.extractor.page import Candidate, Page

Matrix = npt.NDArray[np.float64]

_ACRONYM = re.compile(r"\b[A-Z][A-Z0-9]+(?:-[A-Z0-9]+)*s?\b")

SEEN = ("single", "words", "whole", "share", "acronym", "name", "often", "adjective", "participle")
_ALONE = np.array([-1.24, 0.06, 0.94, 1.15, 0.69, 0.55, 0.88, -0.54, -0.87])
_ALONE_BIAS = -2.58
_WITH_MEANING = np.array([-0.86, -0.29, 0.87, 1.26, 0.57, 0.63, 0.62, -0.41, -0.87])
_WITH_MEANING_BIAS = -2.22
_LIKE_PASSAGE = 4.53
_LIKE_OTHERS = -2.31
"""Weights of the cosine to the passage, and of the cosine to the mean of all candidates. A candidate close to all
others says little."""

WEIGHTS = (*_ALONE, _ALONE_BIAS, *_WITH_MEANING, _WITH_MEANING_BIAS, _LIKE_PASSAGE, _LIKE_OTHERS)


def by_grammar(seen: Matrix) -> Matrix:
    """Return salience, 0 to 1, from the grammar's features alone."""
    return _logistic(seen @ _ALONE + _ALONE_BIAS)


def by_meaning(seen: Matrix, candidates: npt.NDArray[np.float32], passage: npt.NDArray[np.float32]) -> Matrix:
    """Return salience, 0 to 1, with the embeddings of the candidates (one row each) and of the passage's windows."""
    typical = candidates.mean(axis=0)
    typical /= np.linalg.norm(typical) or 1.0
    # Rounded, so that the last bits of another machine's arithmetic do not reorder equal candidates.
    like_passage = np.round((candidates @ passage.T).mean(axis=1).astype(np.float64), 4)
    like_others = np.round((candidates @ typical).astype(np.float64), 4)
    return _logistic(
        seen @ _WITH_MEANING + _WITH_MEANING_BIAS + _LIKE_PASSAGE * like_passage + _LIKE_OTHERS * like_others
    )


def _logistic(x: Matrix) -> Matrix:
    return np.asarray(1 / (1 + np.exp(-x)))


def seen(page: Page, candidates: Sequence[Candidate]) -> Matrix:
    """Return the grammar's features: one row a candidate, with the columns of SEEN."""
    rows = np.zeros((len(candidates), len(SEEN)))
    for row, candidate in zip(rows, candidates, strict=True):
        first = candidate.mentions[0]
        start = page.sentences[first.sentence].words.doc[first.first]
        words = len(candidate.label.split())
        whole = sum(mention.whole for mention in candidate.mentions)
        row[:] = (
            words == 1,
            words,
            candidate.run and candidate.chunk,
            whole / len(candidate.mentions),
            _ACRONYM.search(candidate.label) is not None,
            bool(candidate.kind),
            np.log(len(candidate.mentions)),
            start.pos_ == "ADJ",
            start.tag_ in ("VBG", "VBN"),
        )
    return rows
