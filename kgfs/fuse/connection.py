"""How much of what programs ask the kernel passes on at a time.

Of what it reads for programs page by page that is twelve requests, unless somebody says otherwise: twelve programs that wait for
a server that is silent would keep all others from reading what is here. libfuse could say it at the beginning, but pyfuse3 has
no door to that; later it can be said in the control filesystem of FUSE, which systemd mounts on every machine.
"""

from __future__ import annotations

from pathlib import Path

from kgfs.fuse import probe

CONTROL = Path("/sys/fs/fuse/connections")
AT_ONCE = 256
"""The kernel lets users have more than that, where the machine has a GiB of memory."""


def widen(where: Path, at_once: int = AT_ONCE) -> bool:
    """Have ``at_once`` requests passed on that the mount at this very path could wait for; whether that could be said. Nothing
    is asked of the mount itself."""
    mounted = probe.mount_at(where)
    if mounted is None:
        return False
    try:
        (CONTROL / mounted.device.partition(":")[2] / "max_background").write_text(str(at_once))
    except OSError:
        return False
    return True
