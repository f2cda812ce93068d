"""What a worker leaves to the mounts of its home."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from kgfs.app import timing, working
from kgfs.app.home import open_stores
from kgfs.config import load
from kgfs.stores.mount_files import GARAGE, mount_note


def test_a_worker_looks_at_a_shared_ledger_seldom_while_a_mount_does(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = load(home)
    looks: list[int] = []
    monkeypatch.setattr(working, "shipping", lambda *_: lambda: looks.append(1))
    monkeypatch.setattr(timing, "EXCHANGE_BESIDE_MOUNTS", 3600.0)
    with open_stores(config) as stores:
        stores.catalog.share()
        ship = working._beside_mounts(config, stores)

        def looked() -> int:
            before = len(looks)
            for _ in range(3):
                ship()
            return len(looks) - before

        assert looked() == 3
        with mount_note(config.run, "mounted", tmp_path / "mnt"):
            assert looked() == 0
            monkeypatch.setattr(timing, "EXCHANGE_BESIDE_MOUNTS", 0.0)
            assert looked() == 3
            monkeypatch.setattr(timing, "EXCHANGE_BESIDE_MOUNTS", 3600.0)
        with mount_note(config.run, "shown", tmp_path / "mnt", GARAGE):
            assert looked() == 3, "it delivers nothing"
        killed = config.run / "mount-killed.json"
        killed.write_text(json.dumps({"mountpoint": os.fsdecode(tmp_path / "mnt"), "pid": 1}))
        assert looked() == 3, "nobody has its lock"
