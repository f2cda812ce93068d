"""Open the vector store that a configuration names."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from kgfs.config import Config
from kgfs.errors import BadInputError, MachineError

if TYPE_CHECKING:  # imports numpy, which a mount does not need
    from kgfs.stores.vectors.contract import Vectors


def open_vectors(config: Config, model: str, confirm: Callable[[], None] = lambda: None) -> Vectors:
    """Return the vector store of one embedding model. Ask no server yet.

    ``confirm`` is called before each batch that is written to a server; it raises NotOwnerError if another home owns the
    bucket. Raise MachineError if the packages of the Qdrant client are not installed, and BadInputError for settings that
    cannot be used.
    """
    settings = config.vectors
    if settings.store == "sqlite":
        from kgfs.stores.vectors.sqlite import SqliteVectors

        return SqliteVectors(config.vectors_db, model)
    from kgfs.stores.servers import is_encrypted, is_open_to_others, warn_of_plain_text

    try:
        from kgfs.stores.vectors.qdrant import QdrantVectors
    except ModuleNotFoundError as error:
        raise MachineError(
            f"vectors.store is 'qdrant', and the package {error.name} is not installed. Install kgfs[servers]."
        ) from error
    vectors = QdrantVectors(settings, _key(settings.api_key_file), model, confirm)
    if is_open_to_others(settings.url, is_encrypted(settings.url)):
        warn_of_plain_text(config, settings.url, "Use https:// (vectors.url).")
    return vectors


def may_hold_vectors(config: Config) -> bool:
    """Return whether rows of any model may have been stored. Quick: no server is asked."""
    return config.vectors.store != "sqlite" or config.vectors_db.exists()


def _key(named: str) -> str:
    """Return the API key from the file ``named`` or, without one, from QDRANT_API_KEY. '' if there is none."""
    from kgfs.settings import is_sayable, key_in, what_is_no_key

    if named:
        return key_in(named, "vectors.api_key_file")
    if not is_sayable(key := os.environ.get("QDRANT_API_KEY", "").strip()):
        raise BadInputError(what_is_no_key("QDRANT_API_KEY"))
    return key
