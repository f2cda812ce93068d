"""Have the worker rank Sources: how it is asked, and the form of its answer."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from kgfs.compute.deadline import Deadline
from kgfs.compute.finding import find
from kgfs.compute.questions import Asking, refusing
from kgfs.errors import GivenUpError, KgfsError, NoWorkerError, StoreError, TimedOutError
from kgfs.knowledge.ranking import Match, Ranked


def ranked_by_worker(
    asking: Asking,
    words: str,
    ontology: str,
    doc_ids: Collection[str] | None,
    min_score: float | None,
    patience: Deadline,
) -> tuple[Ranked | None, Asking]:
    """Return what the worker ranked, None where it did not, and how it is to be asked from now on: a worker that is not there,
    or is silent, is not asked again.

    Arguments are those of :func:`.search.rank`. Raises GivenUpError once the question is given up.
    """
    try:
        return _from_data(find(asking, words, ontology, doc_ids, min_score, patience)), asking
    except GivenUpError:
        raise
    except (NoWorkerError, TimedOutError) as error:
        return None, refusing(error)
    except KgfsError:  # it is busy, or has no index: it may still say what is near
        return None, asking


def as_data(found: Ranked) -> dict[str, Any]:
    """Return what was ranked as plain data."""
    rows = []
    for (doc_id, chunk), score in found.order:
        match = found.matches[doc_id, chunk]
        rows.append((doc_id, chunk, score, match.text, match.cosine, match.header, match.beside, match.is_code))
    return {
        "found": rows,
        "all_words": found.all_words,
        "only_text": found.only_text,
        "by_table": found.by_table,
        "strange": sorted(found.strange),
        "rare": found.rare,
        "having": sorted(found.having),
    }


def _from_data(told: Any) -> Ranked:
    try:
        order, matches = [], {}
        for doc_id, chunk, score, text, cosine, header, beside, code in told["found"]:
            place = (str(doc_id), int(chunk))
            near = None if cosine is None else float(cosine)
            order.append((place, float(score)))
            matches[place] = Match(float(text), near, float(header), float(beside), bool(code))
        return Ranked(
            order=tuple(order),
            matches=matches,
            all_words=bool(told["all_words"]),
            only_text=str(told["only_text"]),
            by_table=bool(told["by_table"]),
            strange=frozenset(map(str, told["strange"])),
            rare=str(told["rare"]),
            having=frozenset(map(str, told["having"])),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise StoreError("The worker's answer has not the form it should have.") from error
