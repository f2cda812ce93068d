"""Helpers shared by the stores on servers: secrets read from files, and warnings about unencrypted connections."""

from __future__ import annotations

import hashlib
import logging
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import fields
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from kgfs.config import Config
from kgfs.errors import BadInputError, MachineError
from kgfs.settings import Cluster, Garage, Graph, Llm, Vectors, is_loopback
from kgfs.stores.error_log import ErrorLog

if TYPE_CHECKING:  # not every command needs it
    import ssl

log = logging.getLogger("kgfs.servers")
_reported: set[str] = set()
"""URLs of servers that this process has warned about."""
asked = Counter[str]()
"""The number of requests that this process has sent to servers, by store. For the graph: sessions, each with one
query or transaction and the driver's messages for it. Two requests at the same instant may be counted as one."""


def requests_text() -> str:
    """Return the metrics of requests for ``.kgfs/metrics.prom``."""
    lines = [
        "# HELP kgfs_server_requests_total Requests to servers by the store they were for; of the graph, questions and transactions.",
        "# TYPE kgfs_server_requests_total counter",
        *(f'kgfs_server_requests_total{{store="{store}"}} {n}' for store, n in sorted(asked.items())),
    ]
    return "\n".join(lines) + "\n"


def need(setting: str, *packages: str) -> None:
    """Raise MachineError if one of the packages that the client of ``setting`` needs is not installed. No package
    is loaded, because loading takes longer than starting the rest of kgfs; the first request to the server loads
    it."""
    for package in packages:
        if find_spec(package) is None:
            raise MachineError(f"{setting}, and the package {package} is not installed. Install kgfs[servers].")


def file_named(setting: str) -> Path | None:
    """Return the path that a setting names; None if the setting is empty."""
    return Path(setting).expanduser().absolute() if setting else None


def warn_of_plain_text(config: Config, url: str, remedy: str) -> None:
    """Warn that the connection to a server on another machine is not encrypted: once a process in the program's
    log, and once a home in the home's error log."""
    if url in _reported:
        return
    _reported.add(url)
    warning = f"{url}: secrets and knowledge go there unencrypted. {remedy}"
    log.warning(warning)
    note = config.run / f"plain-text-{hashlib.sha256(url.encode()).hexdigest()[:12]}"
    if config.run.is_dir() and not note.exists():
        ErrorLog(config.errors_log).add("servers", warning)
        with suppress(OSError):  # on a full disk the next process repeats the warning in the home's log
            note.touch(mode=0o600)


def secret_files(config: Config) -> Iterator[tuple[str, Path]]:
    """Yield (setting, file) for each setting that names a file with a secret, of the servers that are in use."""
    used: dict[str, tuple[bool, Garage | Graph | Vectors | Cluster | Llm]] = {
        "garage": (config.garage_store.store != "files", config.garage_store),
        "graph": (config.graph.store != "sqlite", config.graph),
        "vectors": (config.vectors.store != "sqlite", config.vectors),
        "compute": (config.cluster.engine == "ray", config.cluster),
        "llm": (bool(config.llm.base_url), config.llm),
    }
    for section, (is_used, settings) in used.items():
        for item in fields(settings):
            file = file_named(getattr(settings, item.name)) if item.name.endswith("_file") and is_used else None
            if file is not None and item.name != "ca_file":
                yield f"{section}.{item.name}", file


def trusted(file: Path, setting: str) -> ssl.SSLContext:
    """Return a TLS context that trusts the certificates in ``file`` and no others. Raises BadInputError if the
    file has no readable certificate."""
    import ssl

    try:
        return ssl.create_default_context(cafile=file)
    except OSError as error:
        reason = "it has no certificate that can be read" if isinstance(error, ssl.SSLError) else error.strerror
        raise BadInputError(f"{setting}: {file} cannot be used: {reason}.") from error


def is_open_to_others(url: str, encrypted: bool) -> bool:
    """Return whether other machines can read the traffic to ``url``: it is not encrypted and the host is not this
    machine."""
    return not encrypted and not is_loopback(urlsplit(url).hostname or "")


def is_encrypted(url: str) -> bool:
    """Return whether an HTTP URL uses TLS."""
    return urlsplit(url).scheme == "https"
