"""Two hosts and the machine of their servers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

from tests.support.network import SERVERS, Host, inside
from tests.support.running import ROOT

PEERS = ("seaweedfs",)

TIMEOUT = 5.0
"""Seconds that hosts give a server: what they say when it is silent is to come within some of these."""


@dataclass
class Machines:
    """Two hosts and the servers' machine."""

    hosts: list[Host]
    servers: str
    """The namespace of their machine."""
    folder: Path
    """Of the servers."""

    def start(self, *names: str) -> None:
        """Those that do not run, with the data and the ports that they had."""
        words = (sys.executable, "-m", "scripts.servers", "start", *names, "--folder", str(self.folder))
        subprocess.run(
            [*inside(self.servers), *words],
            env={**os.environ, "KGFS_SERVERS_HOST": SERVERS},
            cwd=ROOT,
            check=True,
            capture_output=True,
            timeout=300,
        )

    def settings(self, prefix: str) -> str:
        """For a home whose garage is a part of the bucket that no other test has."""
        found = tomllib.loads((self.folder / "kgfs.toml").read_text())
        found["garage"] |= {"prefix": prefix, "shared": True, "timeout": TIMEOUT}
        return "".join(
            f"[{name}]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in table.items())
            for name, table in found.items()
        )
