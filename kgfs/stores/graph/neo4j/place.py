"""Where a Neo4j server is and how it is spoken to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from kgfs.errors import BadInputError
from kgfs.settings import GRAPH_SCHEMES, is_address
from kgfs.stores.servers import is_loopback, is_open_to_others

WRITING = 10
"""A transaction that writes may take so many times longer than one that reads: a publication is one."""


@dataclass(frozen=True, slots=True)
class Place:
    """The password is a secret: it is never shown, not even by ``repr``, and never part of an error."""

    uri: str
    """``bolt://host:port`` for one server, ``neo4j://…`` for a cluster; ``+s`` is TLS."""
    user: str = "neo4j"
    password: str = field(default="", repr=False)
    password_file: Path | None = None
    """Where it stands, if it is to be read anew: who changes it changes the file."""
    database: str = "neo4j"
    namespace: str = "kgfs"
    """The name of the graph: several stand side by side in one database."""
    timeout: float = 30.0
    """Seconds after which a question is given up, retries of transient errors included."""
    ca_file: Path | None = None
    """Whom to trust for TLS, in place of the machine's own list."""
    aside: Path | None = None
    """The file that a graph is built in before it is sent to the server; somewhere temporary without one."""
    bookmarks: Path | None = None
    """A file through which processes of one machine see each other's writes, whichever member of a cluster they ask. A
    single server needs none."""
    told: Callable[[str], None] | None = field(default=None, repr=False, compare=False)
    """Called with the URI of each member of a cluster that others can hear us speak to, before we do; any number of times."""

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

    @property
    def open_to_others(self) -> bool:
        """Whether words and password go unencrypted to another machine."""
        return is_open_to_others(self.uri, self.encrypted)

    def tell_of(self, host: str, port: object) -> None:
        """Of a server that is about to be spoken to, which a cluster may have named."""
        if self.told and not (self.encrypted or self.open_to_others or is_loopback(host)):
            self.told(f"neo4j://[{host}]:{port}" if ":" in host else f"neo4j://{host}:{port}")

    def seconds_for(self, changed: int) -> float:
        """That a transaction may take which changes so much of one kind, documents or concepts: a time-out each, ten at least."""
        return self.timeout * max(WRITING, changed)

    def options(self) -> dict[str, Any]:
        """Of the driver, without who we are."""
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
        """The URI as the driver wants it beside an own list of authorities, which excludes the short schemes of TLS."""
        return self.uri.replace("+s", "", 1) if self.ca_file else self.uri
