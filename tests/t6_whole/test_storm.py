"""Mounts that are killed while threads write, rename and remove in one folder: their clients are told, and wait for nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kgfs.stores.mount_files import mount_notes
from tests.support.running import QUICK, Place

pytestmark = pytest.mark.mounted

ROUNDS = ([], ["--no-worker"], [])
"""The options of the mounts. Of a hundred kills three to six met a thread that waited in the kernel; ``tests/t5_mount/test_killed.py`` has each do so."""

STORM = """
import errno, os, random, sys, threading

GONE = (errno.EIO, errno.ENODEV, errno.ECONNABORTED, errno.ENOTCONN)

def storm(number):
    chance = random.Random(number)
    while True:
        name = f"{sys.argv[1]}/f{chance.randrange(12)}"
        try:
            with open(f"{name}.tmp", "w") as file:
                file.write("The storm of files is heavy. " * 60 + str(chance.random()))
            os.rename(f"{name}.tmp", name)
            if chance.random() < 0.4:
                os.unlink(f"{sys.argv[1]}/f{chance.randrange(12)}")
        except OSError as error:
            if error.errno in GONE:
                return

threads = [threading.Thread(target=storm, args=(number,)) for number in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
"""


@pytest.mark.claim("UNM-5")
def test_a_storm_ends_with_its_mount(tmp_path: Path) -> None:
    place = Place(tmp_path / "home", tmp_path / "mnt", dict(QUICK))
    place.mountpoint.mkdir()
    try:
        for options in ROUNDS:
            place.mount(*options)
            documents = place.ontology("Storm") / "documents"
            (note,) = mount_notes(place.home / "run")
            client = subprocess.Popen([sys.executable, "-c", STORM, str(documents)])
            time.sleep(1.5)
            os.kill(note.pid, signal.SIGKILL)
            assert client.wait(30) == 0
    finally:
        place.close()
