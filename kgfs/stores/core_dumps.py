"""Keep secrets of servers out of core dumps."""

from __future__ import annotations

import resource

from kgfs.config import Config


def keep_secrets_from_core_dumps(config: Config) -> None:
    """Disable core dumps for this process and its children if the process may hold a secret, such as the token of
    a cluster."""
    if config.on_servers or config.cluster.engine == "ray" or config.llm.base_url:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
