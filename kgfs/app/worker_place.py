"""Take the worker's place, for commands that change the graph."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from kgfs.app.home import model_in_use, open_home, ship_rest
from kgfs.config import Config
from kgfs.stores.stores import Stores
from kgfs.stores.vectors.opening import may_hold_vectors
from kgfs.stores.worker_turn import in_place_of_worker


@contextmanager
def in_worker_place(config: Config) -> Iterator[Stores]:
    """Yield the stores with their vectors, while the worker and every other process that may change the graph waits."""
    with in_place_of_worker(config.run):
        with open_home(config, make=False) as stores:
            model = model_in_use(config, stores) or ("none" if may_hold_vectors(config) else "")
        with open_home(config, vectors_of=model, derive=False) as stores:
            yield stores
            ship_rest(config, stores)
