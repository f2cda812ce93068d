"""Ray that neither connects nor leaves: the process that waits for it ends, and says why."""

from __future__ import annotations

import subprocess
import sys
import time

from kgfs.compute import timing
from kgfs.compute.cluster import _or_ends as or_ends
from kgfs.errors import MachineError

STUCK = """
import logging, sys, threading
from kgfs.compute import timing
from kgfs.compute.cluster import _or_ends as or_ends

logging.basicConfig()
timing.CLUSTER_STUCK = 0.2
with or_ends("left its cluster"):
    threading.Event().wait(60)
"""


def test_a_process_in_which_ray_stands_still_ends() -> None:
    ended = subprocess.run([sys.executable, "-c", STUCK], capture_output=True, text=True, timeout=50)
    assert ended.returncode == MachineError.exit_code
    assert "Ray has not left its cluster within 0.2 s" in ended.stderr


def test_one_in_which_it_goes_on_does_not() -> None:
    before, timing.CLUSTER_STUCK = timing.CLUSTER_STUCK, 0.05
    try:
        with or_ends("left its cluster"):
            pass
        time.sleep(0.2)
    finally:
        timing.CLUSTER_STUCK = before
