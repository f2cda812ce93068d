"""Ask a language model about documents, before they are read: the worker does this, and keeps each answer as it comes.

A document is asked about once its text is kept. Its passages are asked about side by side, as many as ``[llm] concurrency``
over all documents. When the last answer is kept, the document is read like any other, and asks nothing.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

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
Records = dict[tuple[str, int], list[Asked]]
"""Records by fingerprint and part."""
TOO_LONG = "too long"


@dataclass(frozen=True, slots=True)
class Inquiry:
    """What is to be asked about a document."""

    document: Document
    kin: Sequence[Document]
    """Documents whose answers are taken over where they were asked the same."""
    questions: Sequence[Question]
    description: Question | None
    """The request that describes the document; None where none is wanted."""
    known: Sequence[str]
    run: str


@dataclass(frozen=True, slots=True)
class Requests:
    """What asking takes, estimated."""

    number: int = 0
    prompt_tokens: int = 0
    """Tokens of the prompts, schemas and known labels included."""
    answer_tokens: int = 0

    def __add__(self, other: Requests) -> Requests:
        return Requests(
            self.number + other.number,
            self.prompt_tokens + other.prompt_tokens,
            self.answer_tokens + other.answer_tokens,
        )


class Asker:
    """Asks the model of ``[llm]``. Any number of threads may call; equal requests under way are sent once."""

    def __init__(self, config: Config, objects: Objects, compute: Compute) -> None:
        """Prepare for asking; send nothing yet. Raise BadInputError and ModelMissingError as ``models.llm.load`` does."""
        self.usage = Usage(config.home, config.llm)
        self.model: LanguageModel = load_model(config.llm, self.usage)
        self.extractor = LlmExtractor(config.llm, config.prompts)
        self._objects, self._tokens = objects, compute.tokens
        self._width = config.llm.concurrency
        self._context_model = config.llm.context_model
        self._describes = config.llm.describes
        self._default = config.models.extractor
        self._under_way: dict[tuple[str, int], Future[list[Mapping[str, object]]]] = {}
        self._joining = threading.Lock()
        self._stopping = threading.Event()

    @property
    def width(self) -> int:
        """Return the number of documents that are worth asking about at the same time."""
        return min(self._width, 16)

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

    def description(self, text: Text) -> Question | None:
        """Return the request that describes a document; None where ``[llm] contexts`` wants none."""
        return answers.description(self.extractor.context_shape, text) if self._describes else None

    def questions(
        self, text: Text, words: str, passed: Sequence[Chunk], language: str, domains: Domains
    ) -> list[Question]:
        """Return what is to be asked about a document."""
        mine = self.extractor
        name = f"{mine.name}/{mine.version}"
        found = answers.questions(
            name, mine.model, mine.prompt_hash, self._tokens, text, words, passed, language, domains
        )
        return list(found)

    def ask(self, inquiry: Inquiry, heard: Heard) -> None:
        """Ask all that no Record answers yet. When this returns, each request has an answer or has failed for good.

        Raise UnavailableError where the model does not answer or a limit is reached, LostLeaseError when the worker stops, and
        what ``heard`` raises. What was answered by then is kept.
        """
        records, elsewhere = self._kept(inquiry)
        asked = self._places(inquiry)
        places = list(asked)
        left = [at for at in places if not self._judge(records.get(at, []), at[1], inquiry.run).is_settled]
        done = len(places) - len(left)
        heard(done, len(places))
        errors: list[BaseException] = []
        told = threading.Lock()

        def work(place: tuple[str, int]) -> None:
            nonlocal done
            if errors:
                return
            self.usage.of_run(inquiry.run)
            try:
                known = records.get(place, [])
                if not self._take_over(inquiry, place[1], elsewhere.get(place, [])):
                    self._ask_one(inquiry, asked[place], place[1], known)
                with told:
                    done += 1
                    heard(done, len(places))
            except BaseException as error:  # noqa: BLE001  the caller raises it when the others have ended
                errors.append(error)

        if left:
            with ThreadPoolExecutor(min(self._width, len(left)), thread_name_prefix="ask") as pool:
                list(pool.map(work, left))
        if errors:
            raise errors[0]
        border("asked")

    def _judge(self, records: Sequence[Asked], part: int, run: str) -> Judgement:
        mine = self.extractor
        return answers.judge(records, mine.parse_context if part == answers.CONTEXT else mine.parse, run)

    def planned(self, inquiry: Inquiry) -> Requests:
        """Return what :meth:`ask` would send for it now."""
        records, elsewhere = self._kept(inquiry)
        found = Requests()
        for place, question in self._places(inquiry).items():
            kept = [*records.get(place, ()), *elsewhere.get(place, ())]
            if not self._judge(kept, place[1], inquiry.run).is_settled:
                found += self._request(question, place[1], inquiry.known)
        return found

    def _places(self, inquiry: Inquiry) -> dict[tuple[str, int], Question]:
        """Return the requests about a document, by fingerprint and part."""
        parts = range(len(self.extractor.parts))
        found = {(question.fingerprint, part): question for question in inquiry.questions for part in parts}
        if inquiry.description is not None:
            found[inquiry.description.fingerprint, answers.CONTEXT] = inquiry.description
        return found

    def _prompt(self, question: Question, part: int, known: Sequence[str]) -> Prompt:
        if part == answers.CONTEXT:
            return self.extractor.context_prompt(question.passage)
        return self.extractor.prompt(question.passage, part, known, self._tokens)

    def _request(self, question: Question, part: int, known: Sequence[str]) -> Requests:
        try:
            prompt = self._prompt(question, part, known)
        except BadInputError:
            return Requests()
        texts = [*(message["content"] for message in prompt.messages()), json.dumps(prompt.schema)]
        asked = self._tokens.count(question.passage.text)
        return Requests(1, sum(self._tokens.counts(texts)), min(prompt.max_tokens, 2 * asked + 100))

    def _kept(self, inquiry: Inquiry) -> tuple[Records, Records]:
        """Return the Records of the document, and those of its kin that may be taken over."""
        kin = () if inquiry.run.startswith(answers.AGAIN) else inquiry.kin
        mine = answers.load(self._objects, [inquiry.document.doc_id])
        return mine, answers.load(self._objects, [one.doc_id for one in kin])

    def _take_over(self, inquiry: Inquiry, part: int, others: Sequence[Asked]) -> bool:
        """Keep a copy of the answer that a related document has to the same request. Return whether there is one."""
        judged = self._judge(others, part, inquiry.run)
        if judged.extraction is None:
            return False
        answers.copy(self._objects, judged.key, inquiry.document.doc_id)
        return True

    def _ask_one(self, inquiry: Inquiry, question: Question, part: int, known: Sequence[Asked]) -> None:
        """Ask until a request is settled, or wait for the same request of another document and keep its answer, too."""
        place = (question.fingerprint, part)
        with self._joining:
            ours = place not in self._under_way
            future = self._under_way.setdefault(place, Future())
        if not ours:
            for record in _result(future, self._stopping):
                answers.keep(self._objects, inquiry.document.doc_id, {**record, "run": inquiry.run})
            return
        made: list[Mapping[str, object]] = []
        try:
            self._settle(inquiry, question, part, list(known), made)
            future.set_result(made)
        except BaseException as error:
            future.set_exception(error)
            raise
        finally:
            with self._joining:
                del self._under_way[place]

    def _settle(
        self, inquiry: Inquiry, question: Question, part: int, records: list[Asked], made: list[Mapping[str, object]]
    ) -> None:
        while not (judged := self._judge(records, part, inquiry.run)).is_settled:
            try:
                prompt = self._prompt(question, part, inquiry.known)
            except BadInputError as error:
                unsent = Attempt(REJECTED, reason=f"{TOO_LONG}: {error}", at=time.time_ns())
                self._keep(inquiry, question, part, unsent, records, made)
                continue
            if judged.broken:
                prompt = _repairing(prompt, judged)
            self.model.ask(
                prompt,
                lambda attempt: self._keep(inquiry, question, part, attempt, records, made),
                self._stopping.is_set,
                model=self._context_model if part == answers.CONTEXT else "",
            )

    def _keep(
        self,
        inquiry: Inquiry,
        question: Question,
        part: int,
        attempt: Attempt,
        records: list[Asked],
        made: list[Mapping[str, object]],
    ) -> None:
        """Store the Record of an attempt to which anything was answered."""
        if not attempt.status and not attempt.text and attempt.outcome == FAULT:
            return
        border("answered")
        record: dict[str, object] = {
            "fingerprint": question.fingerprint,
            "part": part,
            "attempt": 1 + max((one.attempt for one in records), default=0),
            "extractor": f"{self.extractor.name}/{self.extractor.version}",
            "model": attempt.model or self.extractor.model,
            "prompt_hash": self.extractor.prompt_hash,
            "known": list(inquiry.known),
            "run": inquiry.run,
            "created_at": attempt.at or time.time_ns(),
            "outcome": attempt.outcome,
            "reason": attempt.reason,
            "finish_reason": attempt.finish_reason,
            "status": attempt.status,
            "response_format": attempt.response_format,
            "prompt_tokens": attempt.prompt_tokens,
            "completion_tokens": attempt.completion_tokens,
            "seconds": attempt.seconds,
            "raw_output": attempt.text,
        }
        key = answers.keep(self._objects, inquiry.document.doc_id, record)
        border("answer-kept")
        made.append(record)
        records.append(answers.asked(record, key))


def _repairing(prompt: Prompt, judged: Judgement) -> Prompt:
    """Return the request that repairs an answer of another form: it shows the answer and what is wrong with it."""
    wrong = f"That is not usable: {judged.fault}. Answer again, with the JSON object alone."
    turns = (("assistant", judged.broken), ("user", wrong))
    return Prompt(prompt.system, prompt.user, prompt.max_tokens, prompt.schema, turns)


def _result(future: Future[list[Mapping[str, object]]], stopping: threading.Event) -> list[Mapping[str, object]]:
    while not stopping.is_set():
        try:
            return future.result(timeout=0.2)
        except TimeoutError:
            if future.done():
                raise
    raise LostLeaseError("The worker is stopping.")
