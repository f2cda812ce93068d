"""Homes that share a bucket and have graphs of their own are not to keep their vectors in one place on a server."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from kgfs.config import Config
from kgfs.errors import BadInputError
from kgfs.settings import Garage, Graph, Vectors
from kgfs.stores.garage.opening import open_garage
from kgfs.stores.hosts import HOSTS, host_id, say, strike_off
from kgfs.stores.vectors.owners import take_place
from tests.support.peers.buckets import Server

Homes = Callable[..., Config]


@pytest.fixture
def home(seaweedfs: Server, tmp_path: Path) -> Homes:
    place = seaweedfs.place

    def made(name: str, prefix: str = "kgfs", url: str = "http://127.0.0.1:1", namespace: str = "") -> Config:
        """Nobody listens at the ``url``: Qdrant is not asked."""
        garage = Garage(
            store="s3",
            endpoint=place.endpoint,
            prefix=place.prefix,
            access_key_file=str(place.access_key_file),
            secret_key_file=str(place.secret_key_file),
            shared=True,
        )
        graph = Graph(store="neo4j", uri="bolt://127.0.0.1:1", namespace=namespace) if namespace else Graph()
        vectors = Vectors(store="qdrant", url=url, prefix=prefix)
        config = Config(home=tmp_path / name, garage_store=garage, graph=graph, vectors=vectors)
        config.run.mkdir(parents=True, exist_ok=True)
        return config

    return made


def claims(config: Config) -> list[str]:
    keys = [key for key, _ in open_garage(config).objects.keys(HOSTS)]
    return sorted(key for key in keys if "/vectors-" in key)


def test_a_second_graph_is_refused_until_the_first_home_is_gone(home: Homes) -> None:
    first, second = home("first"), home("second")
    take_place(first)
    take_place(first)
    before = claims(first)
    with pytest.raises(BadInputError, match=f"vectors.prefix of its own.*--strike-off {host_id(first)}"):
        take_place(second)
    assert claims(first) == before, "who is refused leaves nothing"
    take_place(first)
    objects = open_garage(first).objects
    say(first, objects, 7)
    assert claims(first) == before
    strike_off(objects, host_id(first))
    take_place(second)
    with pytest.raises(BadInputError):
        take_place(first)


def test_other_places_and_one_graph_that_is_shared_go_together(home: Homes) -> None:
    take_place(home("first"))
    take_place(home("second", prefix="another"))
    take_place(home("third", url="http://127.0.0.1:2"))
    take_place(home("fourth", prefix="shared", namespace="team"))
    take_place(home("fifth", prefix="shared", namespace="team"))
    with pytest.raises(BadInputError):
        take_place(home("sixth", prefix="shared"))
    take_place(home("first", prefix="elsewhere"))
    take_place(home("sixth"))  # the first has left it


def test_of_two_at_once_one_has_it(home: Homes) -> None:
    """Both had looked before either said so."""
    low, high = sorted((home("one"), home("two")), key=host_id)
    objects = open_garage(low).objects
    take_place(low)
    (claim,) = claims(low)
    strike_off(objects, host_id(low))
    take_place(high)
    objects.put(claim, b"")
    take_place(low)
    with pytest.raises(BadInputError):
        take_place(high)
    assert claims(low) == [claim]


def test_nobody_is_refused_while_the_bucket_is_away(home: Homes) -> None:
    config = home("one")
    take_place(replace(config, garage_store=replace(config.garage_store, endpoint="http://127.0.0.1:1", timeout=1.0)))
