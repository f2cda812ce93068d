"""The client of a language model: any server that speaks the chat protocol of OpenAI, or a model in a process of this machine.

It repeats requests after faults, tries simpler response formats where a server refuses one, and limits how many requests are
under way. It keeps nothing: whoever asks is told of every attempt before the answer is used.
"""

from __future__ import annotations

import json
import logging
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit

from kgfs.errors import BadInputError, LostLeaseError, ModelMissingError, UnavailableError
from kgfs.settings import Llm, key_in

if TYPE_CHECKING:
    import httpx

    from kgfs.models.local_llm import LocalServer

FORMATS = ("json_schema", "json_object", "none")
"""Response formats, the strictest first. A server that refuses one with 400 is asked with the next."""
ANSWER, REFUSAL, EMPTY, LENGTH, REJECTED, FAULT = "answer", "refusal", "empty", "length", "rejected", "fault"
"""Outcomes of an attempt. After FAULT the request is repeated; the others end it."""
STOPPING = {
    401: "it does not take the key",
    403: "the key has no right to the model",
    404: "it has no such model",
}
"""Answers after which nothing more is asked until the settings change, with what they mean."""
REJECTING = (400, 413, 415, 422)
"""Answers to a request that will not do."""
REJECTIONS = 5
"""Requests in a row that are rejected with 400 before nothing more is asked."""
LONGEST_PAUSE = 30.0
LONGEST_ANSWER = 16 << 20
POLL = 0.2
CHARACTERS_PER_TOKEN = 4


@dataclass(frozen=True, slots=True)
class Prompt:
    """One request to the model."""

    system: str
    """The instructions, the same for all requests of a kind, so that servers can cache them."""
    user: str
    max_tokens: int
    schema: Mapping[str, Any] | None = None
    """JSON Schema of the answer; None for plain text."""
    turns: tuple[tuple[str, str], ...] = ()
    """Further turns (role, content), such as a former answer and what is wrong with it."""
    rules_last: bool = False
    """Whether the instructions follow the user's part."""

    def messages(self) -> list[dict[str, str]]:
        """Return the messages of the request."""
        if self.rules_last:
            first = [{"role": "user", "content": f"{self.user}\n\n{self.system}"}]
        else:
            first = [{"role": "system", "content": self.system}, {"role": "user", "content": self.user}]
        return [*first, *({"role": role, "content": content} for role, content in self.turns)]

    @property
    def characters(self) -> int:
        return sum(len(message["content"]) for message in self.messages()) + len(json.dumps(self.schema or ""))


@dataclass(slots=True)
class Attempt:
    """One request with what came of it."""

    outcome: str
    text: str = ""
    """The exact answer, as far as it came."""
    reason: str = ""
    """What went wrong, for people; empty for an answer."""
    finish_reason: str = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    response_format: str = ""
    model: str = ""
    seconds: float = 0.0
    at: int = 0
    """When the request was sent, in nanoseconds."""
    status: int = 0
    """HTTP status; 0 where none came."""
    retry_after: float = 0.0


class Spending(Protocol):
    """Counts what requests cost, and holds limits. Any thread may call."""

    def begin(self, tokens: int) -> None:
        """Reserve about so many tokens. Raise UnavailableError where a limit is reached."""
        ...

    def end(self, tokens: int, attempt: Attempt) -> None:
        """Replace the reservation by what the attempt used."""
        ...


def load(settings: Llm, spending: Spending | None = None, environ: Mapping[str, str] = os.environ) -> LanguageModel:
    """Return the client of the model that ``[llm]`` names. Ask nothing yet.

    Raise BadInputError where no model is set or the key cannot be read, ModelMissingError where a package is missing.
    """
    if not settings.base_url:
        raise BadInputError("No language model is configured. Set llm.base_url to the address of a model server.")
    try:
        import httpx  # noqa: F401
        import jsonschema  # noqa: F401
    except ImportError as error:
        raise ModelMissingError(f"{error.name} is not installed. Get it with: pip install 'kgfs[llm]'") from error
    file = settings.api_key_file
    key = key_in(file, "llm.api_key_file") if file else environ.get("OPENAI_API_KEY", "").strip()
    return LanguageModel(settings, key, spending)


class LanguageModel:
    """A language model. Any number of threads may call; ``[llm] concurrency`` requests are under way at most."""

    def __init__(self, settings: Llm, key: str = "", spending: Spending | None = None) -> None:
        self.settings = settings
        self._key = key
        self._spending = spending
        self._places = threading.Condition()
        self._under_way = 0
        self._first = 0
        """Requests that wait for a place and go before all others."""
        self._known = threading.RLock()
        self._listed = ""
        """The first model that the server lists; empty until it is asked."""
        self._formats: dict[str, int] = {}
        """The index in FORMATS that each model is asked with first."""
        self._rejections = 0
        self._stopped = ""
        """Why nothing is asked any more; empty while requests are sent."""
        self._is_proven = False
        """Whether a request was answered since the start."""
        self._client: httpx.Client | None = None
        self._child: LocalServer | None = None

    @property
    def name(self) -> str:
        """Return the name of the model as settings and Records have it."""
        file = self.settings.file
        return self.settings.model or (file.name if file else self._listed) or "default"

    @property
    def address(self) -> str:
        """Return the server for messages: host and port without a path."""
        return urlsplit(self.settings.base_url).netloc or self.settings.base_url

    def close(self) -> None:
        """End connections, and the process of a local model."""
        if self._client is not None:
            self._client.close()
        if self._child is not None:
            self._child.close()
        self._client = self._child = None

    def ask(
        self,
        prompt: Prompt,
        heard: Callable[[Attempt], None] = lambda attempt: None,
        stopped: Callable[[], bool] = lambda: False,
        *,
        model: str = "",
        first: bool = False,
    ) -> Attempt:
        """Return the attempt that ended a request: an answer, a refusal, an empty or cut answer, or a rejection.

        ``heard`` is called with every attempt before anything else happens. ``model`` is asked instead of ``[llm] model``. With
        ``first`` the request goes before those that wait for a place. Raise
        UnavailableError where the server does not answer within ``[llm] retry_for`` seconds, refuses the key or the model, or
        a limit is reached; LostLeaseError once ``stopped`` returns true.
        """
        until = time.monotonic() + self.settings.retry_for
        pause = 1.0
        with self._turn(stopped, first=first):
            name = model or self._model()
            format_ = self._formats.get(name, 0)
            while True:
                if self._stopped:
                    raise UnavailableError(self._stopped)
                attempt = self._attempt(prompt, name, FORMATS[format_] if prompt.schema else "none", stopped)
                heard(attempt)
                if attempt.status in STOPPING:
                    self._stopped = (
                        f"{self.address} refused with {attempt.status}, {STOPPING[attempt.status]}: {attempt.reason}."
                        " Mend llm.api_key_file, llm.model or llm.base_url, then restart kgfs."
                    )
                    continue
                if attempt.outcome == REJECTED and prompt.schema and format_ + 1 < len(FORMATS):
                    format_ += 1
                    continue
                if attempt.outcome != FAULT:
                    self._note(name, format_, attempt)
                    return attempt
                pause = min(max(pause, attempt.retry_after), LONGEST_PAUSE)
                if time.monotonic() + pause > until:
                    raise UnavailableError(f"{self.address} does not answer: {attempt.reason}. llm.base_url names it.")
                _sleep(pause, stopped)
                pause *= 2

    def models(self) -> list[str]:
        """Return the models that the server lists. Raise UnavailableError where it does not answer."""
        import httpx

        try:
            answer = self._http().get(f"{self._url()}/models")
            answer.raise_for_status()
            return [str(row["id"]) for row in answer.json()["data"]]
        except (httpx.HTTPError, ValueError, KeyError, TypeError) as error:
            raise UnavailableError(
                f"{self.address} does not list its models: {error}. llm.base_url names it."
            ) from error

    @contextmanager
    def _turn(self, stopped: Callable[[], bool], *, first: bool) -> Iterator[None]:
        """Hold one of the places for requests. Until one is answered each is sent alone, so that a wrong key costs one."""
        with self._places:
            self._first += first
            while self._under_way >= (self.settings.concurrency if self._is_proven else 1) or (
                self._first and not first
            ):
                self._places.wait(POLL)
                if stopped():
                    self._first -= first
                    raise LostLeaseError("The worker is stopping.")
            self._first -= first
            self._under_way += 1
        try:
            yield
        finally:
            with self._places:
                self._under_way -= 1
                self._places.notify_all()

    def _model(self) -> str:
        if self.settings.model or self.settings.file:
            return self.name  # the server of a local model has one model, and takes any name for it
        with self._known:
            try:
                self._listed = self._listed or next(iter(self.models()), "default")
            except UnavailableError:
                pass
            return self.name

    def _note(self, name: str, format_: int, attempt: Attempt) -> None:
        with self._known:
            if attempt.outcome == REJECTED:
                self._rejections += 1
                if self._rejections >= REJECTIONS:
                    self._stopped = f"{self.address} rejected {REJECTIONS} requests in a row: {attempt.reason}. Mend [llm], then restart."
                return
            self._rejections = 0
            self._is_proven = True
            if attempt.outcome == ANSWER:
                self._formats[name] = format_

    def _attempt(self, prompt: Prompt, name: str, format_: str, stopped: Callable[[], bool]) -> Attempt:
        if self._spending is None:
            return self._sent(prompt, name, format_, stopped)
        tokens = prompt.characters // CHARACTERS_PER_TOKEN
        self._spending.begin(tokens)
        attempt = Attempt(FAULT, reason="it was broken off")
        try:
            attempt = self._sent(prompt, name, format_, stopped)
        finally:
            self._spending.end(tokens, attempt)
        return attempt

    def _sent(self, prompt: Prompt, name: str, format_: str, stopped: Callable[[], bool]) -> Attempt:
        import httpx

        body: dict[str, Any] = {
            "model": name,
            "messages": prompt.messages(),
            "max_tokens": prompt.max_tokens,
            "temperature": self.settings.temperature,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if prompt.schema and format_ == "json_schema":
            schema = {"name": "answer", "schema": prompt.schema, "strict": False}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        elif prompt.schema and format_ == "json_object":
            body["response_format"] = {"type": "json_object"}
        heard = _Heard(Attempt(FAULT, model=name, response_format=format_, at=time.time_ns()))
        try:
            with self._http().stream("POST", f"{self._url()}/chat/completions", json=body) as answer:
                heard.attempt.status = answer.status_code
                if answer.status_code != httpx.codes.OK:
                    answer.read()
                    return heard.failed(answer)
                if "event-stream" in answer.headers.get("content-type", ""):
                    for line in answer.iter_lines():
                        heard.line(line)
                        if stopped():
                            raise LostLeaseError("The worker is stopping.")
                else:
                    answer.read()
                    heard.whole(answer.json())
        except httpx.TimeoutException:
            return heard.ended(FAULT, f"nothing came for {self.settings.timeout:g} seconds")
        except (httpx.HTTPError, httpx.StreamError, httpx.InvalidURL) as error:
            return heard.ended(
                FAULT, f"the connection broke off: {error}" if heard.attempt.text else f"no connection: {error}"
            )
        except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
            return heard.ended(FAULT, f"its answer is not one of the chat protocol: {error}")
        return heard.concluded(is_json=prompt.schema is not None)

    def _http(self) -> httpx.Client:
        import httpx

        with self._known:
            if self._client is None:
                logging.getLogger("httpx").setLevel(logging.WARNING)  # it tells of each request
                self._client = httpx.Client(
                    timeout=httpx.Timeout(self.settings.timeout, connect=min(self.settings.timeout, 30.0)),
                    headers={"Authorization": f"Bearer {self._key}"} if self._key else {},
                    limits=httpx.Limits(max_connections=self.settings.concurrency + 4),
                    trust_env=not self.settings.is_local,
                )
            return self._client

    def _url(self) -> str:
        if self.settings.file is None:
            return self.settings.base_url.rstrip("/").removesuffix("/chat/completions")
        with self._known:
            if self._child is None:
                from kgfs.models.local_llm import LocalServer

                self._child = LocalServer(self.settings.file, self.settings)
            return self._child.url()


@dataclass(slots=True)
class _Heard:
    """An answer while it comes."""

    attempt: Attempt
    began: float = field(default_factory=time.monotonic)
    refusal: str = ""
    is_whole: bool = False

    def line(self, line: str) -> None:
        """Take one line of a stream of events."""
        if not line.startswith("data:"):
            return
        data = line.removeprefix("data:").strip()
        if data == "[DONE]":
            self.is_whole = True
            return
        event = json.loads(data)
        if "error" in event:
            raise ValueError(_message(event))
        self._used(event.get("usage"))
        for choice in event.get("choices") or ():
            delta = choice.get("delta") or {}
            self.attempt.text += delta.get("content") or ""
            self.refusal += delta.get("refusal") or ""
            if choice.get("finish_reason"):
                self.attempt.finish_reason, self.is_whole = choice["finish_reason"], True
        if len(self.attempt.text) > LONGEST_ANSWER:
            raise ValueError(f"longer than {LONGEST_ANSWER:,} characters")

    def whole(self, body: Any) -> None:
        """Take an answer that came in one piece."""
        choice = body["choices"][0]
        self.attempt.text = choice["message"].get("content") or ""
        self.refusal = choice["message"].get("refusal") or ""
        self.attempt.finish_reason, self.is_whole = choice.get("finish_reason") or "stop", True
        self._used(body.get("usage"))

    def _used(self, usage: Any) -> None:
        if usage:
            self.attempt.prompt_tokens = int(usage.get("prompt_tokens") or 0)
            self.attempt.completion_tokens = int(usage.get("completion_tokens") or 0)

    def concluded(self, *, is_json: bool) -> Attempt:
        """Return the attempt, judged by how the answer ended."""
        text, finish_reason = self.attempt.text, self.attempt.finish_reason
        if not self.is_whole:
            return self.ended(FAULT, "the connection broke off")
        if finish_reason == "length":
            return self.ended(LENGTH, "the answer was cut at max_tokens")
        if self.refusal or finish_reason == "content_filter":
            return self.ended(REFUSAL, self.refusal or "its content filter refused")
        if not text.strip():
            return self.ended(EMPTY, "the answer is empty")
        if is_json and "{" not in text:
            return self.ended(REFUSAL, text.strip()[:200])
        return self.ended(ANSWER)

    def failed(self, answer: httpx.Response) -> Attempt:
        """Return the attempt that the server refused with an HTTP status."""
        try:
            reason = _message(answer.json())
        except ValueError:
            reason = answer.text.strip()[:200]
        if answer.status_code in STOPPING:
            return self.ended(REJECTED, reason or str(answer.status_code))
        with suppress(ValueError):
            self.attempt.retry_after = float(answer.headers.get("retry-after", 0))
        outcome = REJECTED if answer.status_code in REJECTING else FAULT
        return self.ended(outcome, f"{answer.status_code} {reason}".strip())

    def ended(self, outcome: str, reason: str = "") -> Attempt:
        """Return the attempt with this outcome."""
        attempt = self.attempt
        attempt.outcome, attempt.reason = outcome, reason
        attempt.completion_tokens = attempt.completion_tokens or len(attempt.text) // CHARACTERS_PER_TOKEN
        attempt.seconds = round(time.monotonic() - self.began, 3)
        return attempt


def _message(body: Any) -> str:
    error = body.get("error", body) if isinstance(body, dict) else body
    return str(error.get("message", error) if isinstance(error, dict) else error)[:500]


def _sleep(seconds: float, stopped: Callable[[], bool]) -> None:
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        if stopped():
            raise LostLeaseError("The worker is stopping.")
        time.sleep(min(POLL, left))
