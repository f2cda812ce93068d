"""Open a copy of the golden home, and compare what it shows with what it showed when it was made."""

from __future__ import annotations

import json
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.golden.observe import observe
from tests.support.running import Place

ARCHIVE = Path(__file__).parents[2] / "data" / "golden" / "home.tar.xz"
SEEN = "seen.json"


@dataclass
class Golden(Place):
    """A copy of the golden home, whose mounts have their folders."""

    def see(self) -> dict[str, Any]:
        """Mount both views, and return what they show."""
        garage = self.mountpoint.with_name(f"{self.mountpoint.name}.garage")
        for path in (self.mountpoint, garage):
            path.mkdir(exist_ok=True)
        self.mount("--no-worker")
        self.run("mount", "--view", "garage", garage)
        try:
            return observe(self.mountpoint, garage)
        finally:
            self.run("umount", garage)
            self.umount()


def unpacked(folder: Path) -> tuple[Path, dict[str, Any]]:
    """Unpack the archive; return the home, and what it showed when it was made."""
    with tarfile.open(ARCHIVE) as archive:
        # Debian 12's Python 3.11.2 has no filters, and does not know the argument.
        archive.extraction_filter = getattr(tarfile, "data_filter", lambda member, path: member)
        archive.extractall(folder)
    (folder / "home").chmod(0o700)
    return folder / "home", json.loads((folder / SEEN).read_text())
