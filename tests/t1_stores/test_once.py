"""What is made when it is first wanted."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from kgfs.stores.garage.s3.bucket import Lazy


def test_it_is_made_once_for_all_threads() -> None:
    begun, free = threading.Event(), threading.Event()

    def make() -> object:
        assert not begun.is_set(), "it is made a second time"
        begun.set()
        free.wait(60)
        return object()

    once = Lazy(make)
    assert once.made is None and not begun.is_set()
    with ThreadPoolExecutor(8) as threads:
        asked = [threads.submit(once) for _ in range(8)]
        begun.wait(60)
        free.set()
    assert {id(answer.result()) for answer in asked} == {id(once.made)}


def test_where_it_could_not_be_made_the_next_one_tries_again() -> None:
    answers = iter([None, "made"])

    def make() -> str:
        answer = next(answers)
        if answer is None:
            raise OSError("away")
        return answer

    once = Lazy(make)
    with pytest.raises(OSError, match="away"):
        once()
    assert once.made is None
    assert once() == once() == once.made == "made"
