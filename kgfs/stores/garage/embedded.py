"""The garage of one home on a local disk."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

from kgfs.stores.garage.contract import GarageObjects, Ledger
from kgfs.stores.garage.ledger import SegmentLedger

OBJECTS = "objects"


class FileGarage:
    """A garage in ``root/objects`` and ``root/ledger``. It holds nothing open between calls. Any number may be open
    at the same time."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._ledger = SegmentLedger(root / "ledger")

    @cached_property
    def objects(self) -> GarageObjects:
        """Open the objects when they are first asked for: what a search shows stands in the graph."""
        from kgfs.stores.garage.files import FileObjects
        from kgfs.stores.garage.prefixes import PrefixObjects

        return PrefixObjects(FileObjects(self._root / OBJECTS), self._root)

    @property
    def ledger(self) -> Ledger:
        return self._ledger

    def taken_over_by(self) -> str:
        return ""

    def confirm_owner(self) -> None:
        """Do nothing: who can open the folder may write it."""

    def close(self) -> None:
        """Do nothing: all acknowledged data is durable already."""
