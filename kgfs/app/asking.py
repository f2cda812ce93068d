"""Ask each server that a configuration names whether it answers and accepts the configured secrets."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from kgfs.app import timing
from kgfs.config import Config
from kgfs.errors import AWAY, KgfsError
from kgfs.settings import key_in
from kgfs.stores.garage.opening import open_garage
from kgfs.stores.vectors.opening import open_vectors


@dataclass(frozen=True, slots=True)
class Asked:
    """The result of probing one server."""

    what: str
    where: str
    error: KgfsError | None
    """None if the server answers."""


def asked(config: Config, haste: float | None = None) -> Iterator[Asked]:
    """Probe each configured server and yield one result per server.

    Nothing in the home is changed. Stores that are kept in files yield nothing. With ``haste``, each silent server is
    waited for at most that many seconds, and neither Neo4j nor a Ray cluster is asked.
    """
    with TemporaryDirectory() as elsewhere:
        yield from _asked(replace(config, home=Path(elsewhere)), haste)


def away(config: Config, haste: float | None = None) -> KgfsError | None:
    """Return the error of the first server that is away; None if no server is. ``haste`` is as for :func:`asked`."""
    return next((found.error for found in asked(config, haste) if isinstance(found.error, AWAY)), None)


def create_bucket(config: Config) -> bool:
    """Make the bucket of a home unless it exists, and return whether it was made. A home in files needs none."""
    if config.garage_store.store == "files":
        return False
    from kgfs.stores.garage.s3.garage import S3Garage

    with closing(open_garage(config, cached=False)) as garage:
        assert isinstance(garage, S3Garage)
        return garage.create_bucket()


class Probe:
    """A probe of a home's servers that runs beside other work, for a warning that nobody has to wait for long."""

    def __init__(self, config: Config) -> None:
        """Start to ask each server, for timing.PROBE_AT_MOST at most each."""
        self._found: list[Asked] = []
        self._thread = threading.Thread(target=self._ask, args=(config,), name="ask-servers", daemon=True)
        self._thread.start()

    def _ask(self, config: Config) -> None:
        for found in asked(config):
            self._found.append(found)

    def errors(self, seconds: float) -> list[KgfsError]:
        """Wait at most that many seconds, and return the errors of the servers that were asked by then."""
        self._thread.join(seconds)
        return [found.error for found in self._found if found.error]


def _asked(config: Config, haste: float | None) -> Iterator[Asked]:
    seconds = timing.PROBE_AT_MOST if haste is None else haste
    garage, graph, vectors = config.garage_store, config.graph, config.vectors
    config.run.mkdir()
    hasty = replace(
        config,
        garage_store=replace(garage, timeout=min(garage.timeout, seconds)),
        graph=replace(graph, timeout=min(graph.timeout, seconds)),
        vectors=replace(vectors, timeout=min(vectors.timeout, seconds)),
    )
    if garage.store != "files":
        yield _answer("bucket", f"{garage.endpoint}/{garage.bucket}", lambda: _ask_garage(hasty))
    if vectors.store != "sqlite":
        yield _answer("vectors", vectors.url, lambda: _ask_vectors(hasty))
    if graph.store == "neo4j" and haste is None:  # no operation waits for Neo4j
        yield _answer("neo4j", graph.uri, lambda: _ask_neo4j(hasty))
    if config.cluster.engine == "ray" and haste is None:
        found = _answer("cluster", config.cluster.address, lambda: _ask_cluster(config))
        if found.where or found.error:  # a cluster that the worker starts does not exist yet
            yield found


def _answer(what: str, where: str, ask: Callable[[], None]) -> Asked:
    try:
        ask()
    except KgfsError as error:
        return Asked(what, where, error)
    return Asked(what, where, None)


def _ask_garage(config: Config) -> None:
    with closing(open_garage(config, cached=False)) as garage:
        next(
            iter(garage.objects.keys("sources/asked")), None
        )  # a HEAD request would not tell that the bucket is missing


def _ask_neo4j(config: Config) -> None:
    from kgfs.stores.projection.connection import probe
    from kgfs.stores.projection.endpoint import endpoint_of

    if (error := probe(endpoint_of(config))) is not None:
        raise error


def _ask_cluster(config: Config) -> None:
    """Check that a process listens at the cluster's address.

    Whether the process is Ray and accepts the token is found out only by a worker, which loads Ray for this.
    """
    from kgfs.compute.cluster import probe_cluster

    settings = config.cluster
    if settings.token_file:
        key_in(settings.token_file, "compute.token_file")
    probe_cluster(replace(settings, timeout=min(settings.timeout, timing.PROBE_AT_MOST)))


def _ask_vectors(config: Config) -> None:
    with closing(open_vectors(config, "none")) as vectors:
        vectors.count()
