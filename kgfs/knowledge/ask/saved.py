"""The last answers of saved questions."""

from __future__ import annotations

from kgfs.config import Config
from kgfs.knowledge.ask.answer import Answer, as_data, from_data
from kgfs.stores import saved_answers
from kgfs.stores.stores import Stores


def keep(config: Config, ontology: str, question: str, answer: Answer) -> None:
    """Store the answer as the last one of a saved question (as it is saved: encoded names joined by ``/``)."""
    saved_answers.put(config, ontology, question, as_data(answer))


def kept(config: Config, stores: Stores, ontology: str, question: str) -> Answer | None:
    """Return the last answer of a saved question; None if there is none, or it has text of a purged document. Quick."""
    data = saved_answers.get(config, ontology, question)
    if data is None:
        return None
    try:
        answer = from_data(data)
    except (KeyError, TypeError, ValueError):  # of another version of kgfs: it is asked again
        return None
    known = stores.catalog.names.document
    return answer if all(known(doc_id) is not None for doc_id in answer.doc_ids) else None
