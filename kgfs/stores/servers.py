"""What stores on servers have in common: secrets that stand in files, and nothing said in the clear without a warning."""

from __future__ import annotations

import hashlib
import ipaddress
import logging
import resource
from collections import Counter
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

from kgfs.config import Config
from kgfs.errors import BadInputError, MachineError
from kgfs.stores.error_log import ErrorLog

log = logging.getLogger("kgfs.servers")
_told: set[str] = set()
"""Servers that this process has warned of."""
asked = Counter[str]()
"""What this process asked of servers, by the store it was for: requests; of the graph sessions, each of one question or
transaction and what its driver says for that. Of two at the very same moment one may not be counted."""


def requests_text() -> str:
    """For ``.kgfs/metrics.prom``."""
    lines = [
        "# HELP kgfs_server_requests_total Requests to servers by the store they were for; of the graph, questions and transactions.",
        "# TYPE kgfs_server_requests_total counter",
        *(f'kgfs_server_requests_total{{store="{store}"}} {n}' for store, n in sorted(asked.items())),
    ]
    return "\n".join(lines) + "\n"


def need(setting: str, *packages: str) -> None:
    """MachineError where one of the packages is not installed that a setting wants for its client. None is loaded, which takes longer than starting
    the rest of kgfs: who asks the server does that."""
    for package in packages:
        if find_spec(package) is None:
            raise MachineError(f"{setting}, and the package {package} is not installed. Install kgfs[servers].")


def secret_in(named: str, setting: str) -> str:
    """What the file that a setting names holds, without white space around it. BadInputError where it cannot be read, or
    is empty; the file is named, what is in it never."""
    path = Path(named).expanduser()
    try:
        found = path.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        raise BadInputError(f"{path}: the secret ({setting}) cannot be read: {reason}.") from None
    if not found:
        raise BadInputError(f"{path}: the secret ({setting}) is empty.")
    return found


def file_named(setting: str) -> Path | None:
    """The file that a setting names; none where it is empty."""
    return Path(setting).expanduser().absolute() if setting else None


def warn_of_plain_text(config: Config, url: str, remedy: str) -> None:
    """A server of another machine is spoken to unencrypted: said once a process, and once a home in its log."""
    if url in _told:
        return
    _told.add(url)
    warning = f"{url}: secrets and knowledge go there unencrypted. {remedy}"
    log.warning(warning)
    note = config.run / f"plain-text-{hashlib.sha256(url.encode()).hexdigest()[:12]}"
    if config.run.is_dir() and not note.exists():
        note.touch(mode=0o600)
        ErrorLog(config.errors_log).add("servers", warning)


def keep_secrets_from_core_dumps(config: Config) -> None:
    """A process that may hold a secret leaves no image of its memory behind, nor do those that it starts."""
    if config.on_servers:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def is_open_to_others(url: str, encrypted: bool) -> bool:
    """Whether what is said there can be heard by other machines."""
    return not encrypted and not is_loopback(urlsplit(url).hostname or "")


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
