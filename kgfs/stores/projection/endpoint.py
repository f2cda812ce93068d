"""Where a Neo4j server is, and which graph of it is meant."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from kgfs.config import Config
from kgfs.errors import BadInputError
from kgfs.settings import GRAPH_SCHEMES, is_address
from kgfs.stores.servers import (
    file_named,
    is_loopback,
    is_open_to_others,
    need,
    secret_in,
    trusted,
    warn_of_plain_text,
)


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
    """Called with the URI of each member of a cluster before anything is sent there unencrypted."""

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
        return "+" in urlsplit(self.uri).scheme or self.ca_file is not None

    def warn_of(self, host: str, port: object) -> None:
        """Warn of a cluster's member on another machine that is about to be sent secrets in plain text."""
        if self.warn and not (self.encrypted or is_open_to_others(self.uri, self.encrypted) or is_loopback(host)):
            self.warn(f"neo4j://[{host}]:{port}" if ":" in host else f"neo4j://{host}:{port}")

    def driver_options(self) -> dict[str, Any]:
        return {
            "connection_timeout": min(self.timeout, 10.0),
            "connection_acquisition_timeout": self.timeout,
            "max_transaction_retry_time": self.timeout,
            "liveness_check_timeout": 30.0,
            "keep_alive": True,
            "user_agent": "kgfs",
            "telemetry_disabled": True,
            "notifications_min_severity": "OFF",
        }

    def address(self) -> str:
        """Return the URI as the driver wants it beside an own list of authorities, which excludes the short schemes of TLS."""
        return self.uri.replace("+s", "", 1) if self.ca_file else self.uri


def endpoint_of(config: Config) -> Endpoint:
    """Return the server that ``[graph]`` names. Nothing is asked yet. BadInputError for a setting or a file that cannot be used;
    MachineError where the driver is not installed."""
    settings = config.graph
    need("graph.store is 'neo4j'", "neo4j")

    def warn(uri: str) -> None:
        warn_of_plain_text(config, uri, "Use bolt+s:// or neo4j+s:// (graph.uri).")

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
        warn=warn,
    )
    if endpoint.ca_file:
        trusted(endpoint.ca_file, "graph.ca_file")
    if is_open_to_others(endpoint.uri, endpoint.encrypted):
        warn(endpoint.uri)
    return endpoint
