"""The garage of one home on a local disk."""

from __future__ import annotations

from pathlib import Path

from kgfs.stores.garage.contract import GarageObjects, Ledger
from kgfs.stores.garage.files import FileObjects
from kgfs.stores.garage.ledger import SegmentLedger
from kgfs.stores.garage.prefixes import PrefixObjects

OBJECTS = "objects"


class FileGarage:
    """A garage in ``root/objects`` and ``root/ledger``. It holds nothing open between calls. Any number may be open
    at the same time."""

    def __init__(self, root: Path) -> None:
        self._objects = PrefixObjects(FileObjects(root / OBJECTS), root)
        self._ledger = SegmentLedger(root / "ledger")

    @property
    def objects(self) -> GarageObjects:
        return self._objects

    @property
    def ledger(self) -> Ledger:
        return self._ledger

    def close(self) -> None:
        """Do nothing: all acknowledged data is durable already."""
