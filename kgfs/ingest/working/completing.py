"""Ask the language model for answers to questions: the worker does this, beside what it asks about documents.

Questions go before documents. Each attempt is kept in the home before anything reads it, and never in the garage.
"""

from __future__ import annotations

import time
from dataclasses import asdict

from kgfs.compute.completing import Completion, Request
from kgfs.config import Config
from kgfs.errors import BadInputError, LostLeaseError
from kgfs.ingest.working.asking import Asker
from kgfs.models.answering import ANSWER as WRITTEN
from kgfs.models.answering import INTENT, compose, read_intent
from kgfs.models.contract import Tokens
from kgfs.models.llm import ANSWER, FAULT, Attempt
from kgfs.stores.answer_records import AnswerRecord
from kgfs.stores.graph.sqlite import Graph

FAULTS = 3
"""Faults of the server in a row after which whoever asks is answered without it."""


class Completer:
    """Answers the question ``complete`` with the client of an Asker. Any number of threads may call."""

    def __init__(self, config: Config, asker: Asker, tokens: Tokens, graph: Graph) -> None:
        self._config, self._asker, self._tokens, self._graph = config, asker, tokens, graph

    def __call__(self, request: Request, seconds: float) -> Completion:
        """Return what the model answers within ``seconds``.

        Raise BadInputError for a request that cannot be sent, UnavailableError where nothing is asked any more or a limit is
        reached.
        """
        config = self._config
        until = time.monotonic() + seconds
        asked = (request.kind, request.blocks, request.words, request.hint)
        composed = compose(*asked, settings=config.llm, prompts=config.prompts, tokens=self._tokens)
        if request.blocks and not composed.shown:
            raise BadInputError("no Source is short enough for llm.context_tokens")
        fields = {"kind": request.kind, "model": self._asker.model.name, "prompt_hash": composed.prompt_hash}
        attempts: list[Attempt] = []
        with AnswerRecord(config.home, request.doc_ids, fields) as record:
            # A purge takes documents out of the graph, then removes Records: one of them sees this Record, or is seen here.
            if len(self._graph.documents_among(request.doc_ids)) < len(set(request.doc_ids)):
                record.path.unlink(missing_ok=True)
                raise BadInputError("a document was removed while the question was asked")

            def heard(attempt: Attempt) -> None:
                attempts.append(attempt)
                told = asdict(attempt)
                record.keep({"raw_output": told.pop("text"), **told})

            def is_over() -> bool:
                is_down = len(attempts) >= FAULTS and all(one.outcome == FAULT for one in attempts)
                return is_down or time.monotonic() > until or self._asker.is_stopping

            try:
                attempt = self._asker.model.ask(composed.prompt, heard, is_over, first=True)
            except LostLeaseError:
                reason = attempts[-1].reason if attempts else f"nothing came within {seconds:.0f} seconds"
                attempt = Attempt(FAULT, reason=reason)
        model = attempt.model or self._asker.model.name
        if (request.kind, attempt.outcome) == (WRITTEN, ANSWER):
            claims = [request.claims[at] for at in composed.shown if at < len(request.claims)]
            cited = [number for chunk_id, number in claims if f"[C:{chunk_id}" in attempt.text]
            self._asker.usage.answered(sum(number for _, number in claims), sum(cited))
        intent = read_intent(attempt.text) if (request.kind, attempt.outcome) == (INTENT, ANSWER) else None
        return Completion(attempt.outcome, attempt.text, attempt.reason, model, composed.shown, intent)
