"""Answer questions from the Sources of a home."""

from __future__ import annotations

import time

from kgfs.app import timing
from kgfs.app.home import open_deposits, open_to_read
from kgfs.compute.deadline import Deadline
from kgfs.config import Config
from kgfs.domain.names import encode_name
from kgfs.knowledge.ask import asking
from kgfs.knowledge.ask.page import page
from kgfs.knowledge.ask.saved import keep
from kgfs.render.answer_files import AnswerPage
from kgfs.stores.resolve import ontology_called
from kgfs.stores.stores import Stores


def ask(config: Config, question: str, ontology: str = "", timeout: float = timing.ASK) -> AnswerPage:
    """Return the answer to a question, in one ontology or in all. A saved question shows this answer from now on.

    A busy worker is waited for, ``timeout`` seconds at most in all. Raise TimedOutError where that is not enough,
    MissingError for an unknown ontology, and BadInputError for a question without words or with an unknown filter.
    """
    with open_to_read(config) as stores:
        asked = ontology_called(stores, ontology).id if ontology else ""
        answer = asking.ask(stores, config.run, question, asked, Deadline(timeout), by_worker=True, llm=config.llm)
        for saved in _saved_as(stores, asked, question):
            from kgfs.stores.catalog.facts import QuestionSaved  # needed where a question is saved only

            keep(config, asked, saved, answer)
            with open_deposits(config, stores) as (deposits, _):
                deposits.record(QuestionSaved(asked, saved, time.time_ns()))  # which the mounts tell their kernels
        return page(stores, answer)[0]


def _saved_as(stores: Stores, ontology: str, question: str) -> list[str]:
    """Return the saved questions that read so; one that is split over folders is joined by spaces."""
    wanted = encode_name(question.encode("utf-8", "surrogateescape"))
    saved = stores.catalog.names.saved_questions(ontology)
    return [one.question for one in saved if " ".join(one.question.split("/")) == wanted]
