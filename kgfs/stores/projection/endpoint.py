"""The address of a Neo4j server, the credentials, and the graph that is meant there. Loads no driver."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from kgfs.config import Config
from kgfs.errors import BadInputError
from kgfs.settings import GRAPH_SCHEMES, is_address, secret_in
from kgfs.stores.servers import file_named, is_open_to_others, need, trusted, warn_of_plain_text


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The address of a server and how to authenticate. The password is a secret: it is not part of ``repr`` nor of any error."""

    uri: str
    """``bolt://host:port`` for one server, ``neo4j://…`` for a cluster; ``+s`` is TLS."""
    user: str = "neo4j"
    password: str = field(default="", repr=False)
    password_file: Path | None = None
    """The file that holds the password. It is read again for each connection, so that a changed password needs no restart."""
    database: str = "neo4j"
    namespace: str = "kgfs"
    """The name of the graph: several stand side by side in one database."""
    timeout: float = 30.0
    """Seconds after which a read is given up; a transaction that writes has ten times as long."""
    ca_file: Path | None = None
    """The certificates to trust for TLS, instead of the machine's own list."""
    warn: Callable[[str], None] | None = field(default=None, repr=False, compare=False)
    """Called with the URI of each machine before anything is sent there unencrypted."""

    def __post_init__(self) -> None:
        if "@" in self.uri:
            raise BadInputError("[graph] uri holds a password. Take it out and name a file in [graph] password_file.")
        if not is_address(self.uri, *GRAPH_SCHEMES, below=True):
            raise BadInputError(f"[graph] uri: '{self.uri}' is no address by one of {', '.join(GRAPH_SCHEMES)}.")
        if not self.namespace or "/" in self.namespace:
            raise BadInputError(f"[graph] namespace: '{self.namespace}' is no name without '/'.")
        if self.ca_file and not self.ca_file.is_file():
            raise BadInputError(f"graph.ca_file: {self.ca_file} is no file.")

    @property
    def encrypted(self) -> bool:
        return "+" in self.uri.split("://")[0] or self.ca_file is not None

    def warn_of(self, uri: str) -> None:
        """Warn if others can listen to what is sent to a server, or to a member that a cluster names."""
        if self.warn and is_open_to_others(uri, self.encrypted):
            self.warn(uri)


def endpoint_of(config: Config) -> Endpoint:
    """Return the server that ``[graph]`` names. Ask nothing yet. Raise BadInputError for a setting or a file that cannot be used,
    and MachineError if the driver is not installed."""
    settings = config.graph
    need("graph.store is 'neo4j'", "neo4j")
    if not settings.password_file:
        raise BadInputError("graph.store is 'neo4j', and graph.password_file names no file.")
    endpoint = Endpoint(
        uri=settings.uri,
        user=settings.user,
        password=secret_in(settings.password_file, "graph.password_file"),
        password_file=file_named(settings.password_file),
        database=settings.database,
        namespace=settings.namespace,
        timeout=settings.timeout,
        ca_file=file_named(settings.ca_file),
        warn=lambda uri: warn_of_plain_text(config, uri, "Use bolt+s:// or neo4j+s:// (graph.uri)."),
    )
    if endpoint.ca_file:
        trusted(endpoint.ca_file, "graph.ca_file")
    endpoint.warn_of(endpoint.uri)
    return endpoint
