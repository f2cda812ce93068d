"""The garage of one home on its own disk."""

from __future__ import annotations

from pathlib import Path

from kgfs.stores.garage.contract import Ledger, Objects
from kgfs.stores.garage.files import FileObjects
from kgfs.stores.garage.ledger import SegmentLedger

OBJECTS = "objects"


class FileGarage:
    """``root/objects`` and ``root/ledger``. Holds nothing open between calls; any number may be open at once."""

    def __init__(self, root: Path) -> None:
        self._objects = FileObjects(root / OBJECTS)
        self._ledger = SegmentLedger(root / "ledger")

    @property
    def objects(self) -> Objects:
        return self._objects

    @property
    def ledger(self) -> Ledger:
        return self._ledger

    def close(self) -> None:
        """Nothing is left to do: whatever was acknowledged is durable already."""
