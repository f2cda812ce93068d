"""The check of the projection to Neo4j: whether it is like the home's graph."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

from kgfs.config import Config
from kgfs.errors import AWAY, StoreError
from kgfs.stores.damage import Damage, Kind
from kgfs.stores.run_files import home_id
from kgfs.stores.stores import Stores


def in_projection(config: Config, stores: Stores) -> Iterator[Damage]:
    """Compare the numbers of nodes and a sample of them, where the server is at the same epoch as the graph.

    Yields nothing where the graph is not projected. A server that is behind or cannot be reached is reported as such.
    Asks the server.
    """
    if config.graph.store != "neo4j":
        return
    from kgfs.stores.projection.endpoint import endpoint_of
    from kgfs.stores.projection.projection import Projection

    try:
        with closing(Projection(endpoint_of(config), stores.graph, home_id(config.home))) as projection:
            position = projection.position()
            if position is None or position.epoch != stores.graph.epoch():
                behind = "the whole graph" if position is None else f"{stores.graph.epoch() - position.epoch} commits"
                yield Damage(Kind.PROJECTION_BEHIND, config.graph.uri, f"lacks {behind}, and was not compared")
                return
            for what, how in projection.differences():
                yield Damage(Kind.PROJECTION_DIFFERS, what, how)
    except (StoreError, *AWAY) as error:
        yield Damage(Kind.PROJECTION_BEHIND, config.graph.uri, f"was not compared: {error}")
