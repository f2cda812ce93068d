"""Check what a machine needs before anything can be mounted, with a remedy for each gap."""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from kgfs.errors import MachineError
from kgfs.fuse import connection

DEVICE = Path("/dev/fuse")
CONFIGURATION = Path("/etc/fuse.conf")


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check: a line of ``kgfs doctor``."""

    name: str
    ok: bool
    detail: str
    """The state that was found."""
    remedy: str = ""
    """How to fix it, if not ok."""


def findings(*, allow_other: bool = False) -> list[Finding]:
    """Return the result of each check."""
    found = [_device(), _fusermount(), _pyfuse3()]
    if allow_other:
        found.append(_user_allow_other())
    return found


def require(*, allow_other: bool = False) -> None:
    """Raise MachineError, with the remedy, for the first thing that is missing."""
    for finding in findings(allow_other=allow_other):
        if not finding.ok:
            raise MachineError(f"{finding.detail} {finding.remedy}")


def control() -> Finding:
    """Return whether the connection of a killed mount can be aborted. kgfs works without that, but a killed mount may
    then keep programs waiting for good.
    """
    if connection.is_mounted():
        return Finding("connections", True, f"{connection.CONTROL} is mounted.")
    if os.geteuid() == 0:
        return Finding("connections", True, f"{connection.CONTROL} is not mounted; the next mount of kgfs mounts it.")
    return Finding(
        "connections",
        False,
        f"{connection.CONTROL} is not mounted: programs that use a mount which is killed may wait for good.",
        f"As root: '{connection.MOUNT_CONTROL}'. Mounts that stand already are watched once they are mounted again.",
    )


def _device() -> Finding:
    try:
        os.close(os.open(DEVICE, os.O_RDWR | os.O_CLOEXEC))
    except FileNotFoundError:
        return Finding(
            "device",
            False,
            f"{DEVICE} does not exist.",
            "Load the module with 'modprobe fuse' as root; in a container start it with '--device /dev/fuse --cap-add SYS_ADMIN'.",
        )
    except OSError as error:
        return Finding(
            "device",
            False,
            f"{DEVICE} cannot be opened: {error.strerror}.",
            f"As root: 'chmod 666 {DEVICE}'; in a container start it with '--device /dev/fuse --cap-add SYS_ADMIN'.",
        )
    return Finding("device", True, f"{DEVICE} can be opened.")


def _fusermount() -> Finding:
    program = shutil.which("fusermount3")
    if program is None:
        return Finding("fusermount3", False, "fusermount3 is not installed.", "Install the package fuse3.")
    owner = os.stat(program)
    if os.geteuid() != 0 and not (owner.st_uid == 0 and owner.st_mode & 0o4000):
        return Finding(
            "fusermount3",
            False,
            f"{program} is not set-user-id root, so ordinary users cannot mount.",
            f"As root: 'chown root {program} && chmod u+s {program}'.",
        )
    return Finding("fusermount3", True, f"{program} is installed.")


def _pyfuse3() -> Finding:
    try:
        import pyfuse3
    except ImportError as error:
        return Finding(
            "libfuse",
            False,
            f"pyfuse3 cannot be loaded: {error}.",
            "Install the packages libfuse3-dev, pkg-config and a C compiler, then pyfuse3 with pip.",
        )
    return Finding("libfuse", True, f"pyfuse3 {pyfuse3.__version__} is loaded.")


def _user_allow_other() -> Finding:
    if os.geteuid() == 0:
        return Finding("allow_other", True, "root may let other users in.")
    try:
        allowed = re.search(r"^\s*user_allow_other\s*$", CONFIGURATION.read_text("utf-8", "replace"), re.MULTILINE)
    except OSError:
        allowed = None
    if allowed:
        return Finding("allow_other", True, f"{CONFIGURATION} lets users open their mounts to others.")
    return Finding(
        "allow_other",
        False,
        f"{CONFIGURATION} does not let users open their mounts to others.",
        f"As root: add the line 'user_allow_other' to {CONFIGURATION}, or mount without --allow-other.",
    )
