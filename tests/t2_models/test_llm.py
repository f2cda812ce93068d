"""The client of a language model, against a real server on loopback."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from kgfs.errors import BadInputError, LostLeaseError, UnavailableError
from kgfs.models.llm import Attempt, LanguageModel, Prompt, load
from kgfs.settings import Llm
from tests.support.model_server import answering, said, serving

SCHEMA = {"type": "object", "properties": {"context": {"type": "string"}}, "required": ["context"]}
PROMPT = Prompt("Describe the text.", "The annual plan of Briefloop …", 200, SCHEMA)


Client = Callable[..., LanguageModel]


@pytest.fixture
def client() -> Iterator[Client]:
    with ExitStack() as opened:

        def make(url: str, **settings: Any) -> LanguageModel:
            model = load(Llm(**{"base_url": url, "timeout": 5.0, "retry_for": 0.0, **settings}), environ={})
            return opened.enter_context(closing(model))

        yield make


def asked(model: LanguageModel, prompt: Prompt = PROMPT) -> tuple[Attempt, list[Attempt]]:
    heard: list[Attempt] = []
    return model.ask(prompt, heard.append), heard


@pytest.mark.parametrize(
    ("fault", "outcome"),
    [("malformed", "length"), ("fenced", "answer"), ("refusal", "refusal"), ("empty", "empty")],
)
def test_an_answer_that_came_ends_the_request(tmp_path: Path, client: Client, fault: str, outcome: str) -> None:
    with serving(tmp_path, {fault: 1.0}) as server:
        attempt, heard = asked(client(server.url))
        assert (attempt.outcome, len(heard), len(server.calls())) == (outcome, 1, 1)


@pytest.mark.parametrize("fault", ["http_429", "http_500", "http_503", "drop", "stall"])
def test_a_fault_is_tried_again_and_then_the_server_is_away(tmp_path: Path, client: Client, fault: str) -> None:
    with serving(tmp_path, {fault: 1.0}) as server:
        model = client(server.url, retry_for=1.5, timeout=0.3)
        heard: list[Attempt] = []
        with pytest.raises(UnavailableError, match=r"does not answer.*llm\.base_url"):
            model.ask(PROMPT, heard.append)
        assert [one.outcome for one in heard] == ["fault", "fault"]
        assert len(server.calls()) == 2


def test_a_rejected_key_stops_all_requests_with_one_plain_line(tmp_path: Path, client: Client) -> None:
    with serving(tmp_path, None, "--key", "right") as server:
        key = tmp_path / "key"
        key.write_text("wrong\n")
        model = client(server.url, api_key_file=str(key), model="replay")
        for _ in range(3):
            with pytest.raises(UnavailableError, match=r"refused with 401.*llm\.api_key_file") as caught:
                model.ask(PROMPT)
        assert "wrong" not in str(caught.value)
        key.write_text("right")
        assert asked(client(server.url, api_key_file=str(key)))[0].outcome == "answer"
        assert len(server.calls()) == 1  # requests with a wrong key are not logged by the server


def test_five_rejections_in_a_row_stop_all_requests(tmp_path: Path, client: Client) -> None:
    with serving(tmp_path, {"http_400": 1.0}) as server:
        model = client(server.url)
        for _ in range(5):
            attempt, heard = asked(model)
            assert attempt.outcome == "rejected"
            assert [one.response_format for one in heard] == ["json_schema", "json_object", "none"]
        with pytest.raises(UnavailableError, match="rejected 5 requests in a row"):
            model.ask(PROMPT)
        assert len(server.calls()) == 15


def test_a_simpler_response_format_is_remembered_once_it_worked(client: Client) -> None:
    def answer(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        if body.get("response_format", {}).get("type") == "json_schema":
            return 400, {"error": {"message": "no schemas here"}}
        return said('{"context": "x"}')

    with answering(answer) as url:
        model = client(url, model="m")
        formats = [[one.response_format for one in asked(model)[1]] for _ in range(2)]
    assert formats == [["json_schema", "json_object"], ["json_object"]]


def test_a_refusal_in_its_own_field_is_a_refusal(client: Client) -> None:
    with answering(lambda body: said("", refusal="I cannot do that.")) as url:
        attempt, _ = asked(client(url, model="m"))
    assert (attempt.outcome, attempt.reason) == ("refusal", "I cannot do that.")


def test_only_so_many_requests_are_under_way_and_the_first_one_is_alone(client: Client) -> None:
    under_way, seen, moving = 0, list[int](), threading.Lock()

    def answer(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        nonlocal under_way
        with moving:
            under_way += 1
            seen.append(under_way)
        time.sleep(0.2)
        with moving:
            under_way -= 1
        return said('{"context": "x"}')

    with answering(answer) as url:
        model = client(url, concurrency=3, model="m")
        with ThreadPoolExecutor(7) as pool:
            list(pool.map(lambda _: model.ask(PROMPT), range(7)))
    assert seen[:2] == [1, 1]
    assert max(seen) == 3


def test_waiting_ends_when_the_worker_stops(tmp_path: Path, client: Client) -> None:
    with serving(tmp_path, {"http_503": 1.0}) as server:
        model = client(server.url, retry_for=100.0)
        with pytest.raises(LostLeaseError):
            model.ask(PROMPT, stopped=lambda: len(server.calls()) > 0)


def test_a_key_that_cannot_be_read_is_named(tmp_path: Path, client: Client) -> None:
    with pytest.raises(BadInputError, match=r"nowhere: the secret \(llm\.api_key_file\) cannot be read"):
        client("http://127.0.0.1:1/v1", api_key_file=str(tmp_path / "nowhere"))
