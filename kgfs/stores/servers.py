"""What stores on servers have in common: secrets that stand in files, and nothing said in the clear without a warning."""

from __future__ import annotations

import hashlib
import ipaddress
import logging
import resource
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
from kgfs.settings import Cluster, Garage, Graph, Vectors
from kgfs.stores.error_log import ErrorLog

if TYPE_CHECKING:  # which not every verb needs
    import ssl

log = logging.getLogger("kgfs.servers")
_told: set[str] = set()
"""Servers that this process has warned of."""
LOOPBACK = ("localhost", "ip6-localhost", "ip6-loopback")
"""Names that systems have for it; the last two are Debian's."""
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


def key_in(named: str, setting: str) -> str:
    """As :func:`secret_in`, for what is said in the head of a request."""
    if not is_sayable(found := secret_in(named, setting)):
        raise BadInputError(f"{Path(named).expanduser()}: {what_is_no_key(setting)}")
    return found


def is_sayable(key: str) -> bool:
    """Whether it can stand in the head of a request. Clients refuse others in words that quote them."""
    return key.isascii() and key.isprintable()


def what_is_no_key(setting: str) -> str:
    return f"the secret ({setting}) is no key: it has more than one line, or other characters than keys have."


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
        ErrorLog(config.errors_log).add("servers", warning)
        with suppress(OSError):  # of a full disk: the next process says it in the home's log once more
            note.touch(mode=0o600)


def secret_files(config: Config) -> Iterator[tuple[str, Path]]:
    """Each setting that names a file with a secret, with that file, of the servers that are used."""
    used: dict[str, tuple[bool, Garage | Graph | Vectors | Cluster]] = {
        "garage": (config.garage_store.store != "files", config.garage_store),
        "graph": (config.graph.store != "sqlite", config.graph),
        "vectors": (config.vectors.store != "sqlite", config.vectors),
        "compute": (config.cluster.engine == "ray", config.cluster),
    }
    for section, (is_used, settings) in used.items():
        for item in fields(settings):
            file = file_named(getattr(settings, item.name)) if item.name.endswith("_file") and is_used else None
            if file is not None and item.name != "ca_file":
                yield f"{section}.{item.name}", file


def trusted(file: Path, setting: str) -> ssl.SSLContext:
    """By which the certificates in that file are trusted, and none besides. BadInputError where there are none that can be read."""
    import ssl

    try:
        return ssl.create_default_context(cafile=file)
    except OSError as error:
        reason = "it has no certificate that can be read" if isinstance(error, ssl.SSLError) else error.strerror
        raise BadInputError(f"{setting}: {file} cannot be used: {reason}.") from error


def keep_secrets_from_core_dumps(config: Config) -> None:
    """A process that may hold a secret, be it a cluster's token, leaves no image of its memory behind, nor do those that it starts."""
    if config.on_servers or config.cluster.engine == "ray":
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def is_open_to_others(url: str, encrypted: bool) -> bool:
    """Whether what is said there can be heard by other machines."""
    return not encrypted and not is_loopback(urlsplit(url).hostname or "")


def is_encrypted(url: str) -> bool:
    """Of one that is spoken to by HTTP."""
    return urlsplit(url).scheme == "https"


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        name = host.removesuffix(".")
        return name in LOOPBACK or name.endswith(".localhost")
