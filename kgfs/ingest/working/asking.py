"""Ask a language model about documents, before they are read: the worker does this, and keeps each answer as it comes.

A document is asked about once its text is kept. Its passages are asked about side by side, as many as ``[llm] concurrency``
over all documents. When the last answer is kept, the document is read like any other, and asks nothing.
"""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace

from kgfs.compute.contract import Compute
from kgfs.config import Config
from kgfs.domain.documents import Document
from kgfs.domain.domains import Domains
from kgfs.domain.text import Chunk, Text
from kgfs.errors import BadInputError, LostLeaseError
from kgfs.failpoints import border
from kgfs.ingest.reading import answers
from kgfs.ingest.reading.answers import Asked, Judgement, Question
from kgfs.models.extractor import table
from kgfs.models.extractor.llm import LlmExtractor
from kgfs.models.llm import FAULT, REJECTED, Attempt, LanguageModel, Prompt
from kgfs.models.llm import load as load_model
from kgfs.stores.catalog.rows import Job
from kgfs.stores.garage.contract import Objects
from kgfs.stores.usage import Usage

Heard = Callable[[int, int], None]
"""(requests answered, requests in all) of a document."""
Place = tuple[str, int]
"""What tells one request about a document from the others: fingerprint and part."""
Records = dict[Place, list[Asked]]
TOO_LONG = "too long"


@dataclass(frozen=True, slots=True)
class Inquiry:
    """What is to be asked about a document."""

    document: Document
    kin: Sequence[Document]
    """Documents whose answers are taken over where they were asked the same."""
    asked: Mapping[Place, Question]
    known: Sequence[str]
    run: str


class Asker:
    """Asks the model of ``[llm]``. Any number of threads may call; equal requests under way are sent once."""

    def __init__(self, config: Config, objects: Objects, compute: Compute) -> None:
        """Prepare for asking; send nothing yet. Raise BadInputError and ModelMissingError as ``models.llm.load`` does."""
        self.usage = Usage(config.home, config.llm)
        self.model: LanguageModel = load_model(config.llm, self.usage)
        self.extractor = LlmExtractor(config.llm, config.prompts)
        self._objects, self._tokens = objects, compute.tokens
        self._settings, self._default = config.llm, config.models.extractor
        self._under_way: dict[Place, Future[list[Mapping[str, object]]]] = {}
        self._joining = threading.Lock()
        self._stopping = threading.Event()

    @property
    def width(self) -> int:
        """Return the number of documents that are worth asking about at the same time."""
        return min(self._settings.concurrency, 16)

    def concerns(self, job: Job) -> bool:
        """Return whether the model is to be asked about the document of a job."""
        return job.kind == "read" and table.needs_llm(job.extractor or self._default)

    @property
    def is_stopping(self) -> bool:
        return self._stopping.is_set()

    def stop(self) -> None:
        """Make all calls end soon with LostLeaseError."""
        self._stopping.set()

    def close(self) -> None:
        """Stop, and close connections."""
        self.stop()
        self.model.close()

    def questions(
        self, text: Text, words: str, passed: Sequence[Chunk], language: str, domains: Domains
    ) -> dict[Place, Question]:
        """Return what is to be asked about a document; where ``[llm] contexts`` wants it, that it be described is among it."""
        mine = self.extractor
        name = f"{mine.name}/{mine.version}"
        found = answers.questions(
            name, mine.model, mine.prompt_hash, self._tokens, text, words, passed, language, domains
        )
        asked = {(one.fingerprint, part): one for one in found for part in range(len(mine.parts))}
        if asked and self._settings.describes:
            described = answers.description(mine.context_shape, text)
            asked[described.fingerprint, answers.CONTEXT] = described
        return asked

    def ask(self, inquiry: Inquiry, heard: Heard) -> None:
        """Ask all that no Record answers yet. When this returns, each request has an answer or has failed for good.

        Raise UnavailableError where the model does not answer or a limit is reached, LostLeaseError when the worker stops, and
        what ``heard`` raises. What was answered by then is kept.
        """
        records, elsewhere = self._kept(inquiry)
        of = len(inquiry.asked)
        left = [at for at in inquiry.asked if not self._judge(records.get(at, []), at, inquiry.run).is_settled]
        done = of - len(left)
        heard(done, of)
        errors: list[BaseException] = []
        told = threading.Lock()

        def work(place: Place) -> None:
            nonlocal done
            if errors:
                return
            self.usage.of_run(inquiry.run)
            try:
                kin = self._judge(elsewhere.get(place, []), place, inquiry.run)
                if kin.extraction is not None:
                    answers.copy(self._objects, kin.key, inquiry.document.doc_id)
                else:
                    self._ask_one(inquiry, place, records.get(place, []))
                with told:
                    done += 1
                    heard(done, of)
            except BaseException as error:  # noqa: BLE001  the caller raises it when the others have ended
                errors.append(error)

        if left:
            width = min(self._settings.concurrency, len(left))
            with ThreadPoolExecutor(width, thread_name_prefix="ask") as pool:
                list(pool.map(work, left))
        if errors:
            raise errors[0]
        border("asked")

    def planned(self, inquiry: Inquiry) -> Counter[str]:
        """Return what :meth:`ask` would send for it now, estimated: ``requests``, ``prompt_tokens`` (schemas and known labels included)
        and ``answer_tokens``."""
        records, elsewhere = self._kept(inquiry)
        found: Counter[str] = Counter()
        for place, question in inquiry.asked.items():
            kept = [*records.get(place, ()), *elsewhere.get(place, ())]
            if self._judge(kept, place, inquiry.run).is_settled:
                continue
            with suppress(BadInputError):
                prompt = self._prompt(inquiry, place)
                texts = [*(message["content"] for message in prompt.messages()), json.dumps(prompt.schema)]
                answer = min(prompt.max_tokens, 2 * self._tokens.count(question.passage.text) + 100)
                found.update(requests=1, prompt_tokens=sum(self._tokens.counts(texts)), answer_tokens=answer)
        return found

    def _judge(self, records: Sequence[Asked], place: Place, run: str) -> Judgement:
        mine = self.extractor
        return answers.judge(records, mine.parse_context if place[1] == answers.CONTEXT else mine.parse, run)

    def _prompt(self, inquiry: Inquiry, place: Place) -> Prompt:
        """Raise BadInputError where the passage alone is longer than a prompt may be."""
        passage, part = inquiry.asked[place].passage, place[1]
        if part == answers.CONTEXT:
            return self.extractor.context_prompt(passage)
        return self.extractor.prompt(passage, part, inquiry.known, self._tokens)

    def _kept(self, inquiry: Inquiry) -> tuple[Records, Records]:
        """Return the Records of the document, and those of its kin that may be taken over."""
        kin = () if inquiry.run.startswith(answers.AGAIN) else inquiry.kin
        mine = answers.load(self._objects, [inquiry.document.doc_id])
        return mine, answers.load(self._objects, [one.doc_id for one in kin])

    def _ask_one(self, inquiry: Inquiry, place: Place, known: Sequence[Asked]) -> None:
        """Ask until a request is settled, or wait for the same request of another document and keep its answer, too."""
        with self._joining:
            ours = place not in self._under_way
            future = self._under_way.setdefault(place, Future())
        if not ours:
            for record in _result(future, self._stopping):
                answers.keep(self._objects, inquiry.document.doc_id, {**record, "run": inquiry.run})
            return
        try:
            future.set_result(self._settle(inquiry, place, list(known)))
        except BaseException as error:
            future.set_exception(error)
            raise
        finally:
            with self._joining:
                del self._under_way[place]

    def _settle(self, inquiry: Inquiry, place: Place, records: list[Asked]) -> list[Mapping[str, object]]:
        """Ask until a request is settled, and return the Records that were made."""
        made: list[Mapping[str, object]] = []

        def keep(attempt: Attempt) -> None:
            """Store the Record of an attempt to which anything was answered."""
            if not attempt.status and not attempt.text and attempt.outcome == FAULT:
                return
            border("answered")
            number = 1 + max((one.attempt for one in records), default=0)
            record = self._record(inquiry, place, number, attempt)
            key = answers.keep(self._objects, inquiry.document.doc_id, record)
            border("answer-kept")
            made.append(record)
            records.append(answers.asked(record, key))

        while not (judged := self._judge(records, place, inquiry.run)).is_settled:
            try:
                prompt = self._prompt(inquiry, place)
            except BadInputError as error:
                keep(Attempt(REJECTED, reason=f"{TOO_LONG}: {error}", at=time.time_ns()))
                continue
            if judged.broken:  # the request that repairs it shows the answer, and what is wrong with it
                wrong = f"That is not usable: {judged.fault}. Answer again, with the JSON object alone."
                prompt = replace(prompt, turns=(("assistant", judged.broken), ("user", wrong)))
            model = self._settings.context_model if place[1] == answers.CONTEXT else ""
            self.model.ask(prompt, keep, self._stopping.is_set, model=model)
        return made

    def _record(self, inquiry: Inquiry, place: Place, number: int, attempt: Attempt) -> dict[str, object]:
        mine = self.extractor
        return {
            "fingerprint": place[0],
            "part": place[1],
            "attempt": number,
            "extractor": f"{mine.name}/{mine.version}",
            "model": attempt.model or mine.model,
            "prompt_hash": mine.prompt_hash,
            "known": list(inquiry.known),
            "run": inquiry.run,
            "created_at": attempt.at or time.time_ns(),
            **{name: getattr(attempt, name) for name in _TOLD},
            "raw_output": attempt.text,
        }


_TOLD = (
    *("outcome", "reason", "finish_reason", "status", "response_format"),
    *("prompt_tokens", "completion_tokens", "seconds"),
)
"""What a Record repeats of an attempt."""


def _result(future: Future[list[Mapping[str, object]]], stopping: threading.Event) -> list[Mapping[str, object]]:
    while not stopping.is_set():
        try:
            return future.result(timeout=0.2)
        except TimeoutError:
            if future.done():
                raise
    raise LostLeaseError("The worker is stopping.")
