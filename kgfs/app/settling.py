"""Ask for files to be settled."""

from __future__ import annotations

from kgfs.app.home import make_home
from kgfs.config import Config


def request_settling(config: Config) -> None:
    """Ask every process that settles files to do it now, without waiting for the quiet time."""
    make_home(config)
    (config.run / "settle.request").touch(mode=0o600)
