"""Limits of the process that parses: memory, CPU, open files, and no network."""

from __future__ import annotations

import ctypes
import errno
import platform
import resource
import struct
from dataclasses import dataclass

_CLONE_NEWUSER, _CLONE_NEWNET = 0x10000000, 0x40000000
_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _SECCOMP_MODE_FILTER = 38, 22, 2
_SOCKET = {"x86_64": (0xC000003E, 41), "aarch64": (0xC00000B7, 198)}
"""Machine → (its number in a filter, the number of the call ``socket``)."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What one parsing process may use."""

    memory: int = 2 << 30
    """Bytes of address space."""
    cpu: float = 60.0
    """Seconds of CPU without a page done."""
    files: int = 64
    """Open files."""


def confine(limits: Limits) -> str:
    """Limit the calling process for good. Return how it is kept off the network: ``namespace``, ``filter`` or ``''``."""
    resource.setrlimit(resource.RLIMIT_AS, (limits.memory, limits.memory))
    resource.setrlimit(resource.RLIMIT_NOFILE, (limits.files, limits.files))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    allow_cpu(limits)
    return "namespace" if _leave_network() else "filter" if _forbid_sockets() else ""


def allow_cpu(limits: Limits) -> None:
    """Allow ``limits.cpu`` seconds from now on."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    more = int(used.ru_utime + used.ru_stime + limits.cpu) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (more, resource.getrlimit(resource.RLIMIT_CPU)[1]))


def _leave_network() -> bool:
    """Move into a network namespace without interfaces. False where the system does not allow it."""
    libc = ctypes.CDLL(None, use_errno=True)
    return bool(libc.unshare(_CLONE_NEWNET) == 0 or libc.unshare(_CLONE_NEWUSER | _CLONE_NEWNET) == 0)


def _forbid_sockets() -> bool:
    """Have the kernel refuse new sockets (EPERM). False where it does not allow filters or the machine is not known."""
    known = _SOCKET.get(platform.machine())
    if known is None:
        return False
    rules = [  # (code, jump if true, jump if false, operand) of classic BPF
        (0x20, 0, 0, 4),  # load the machine
        (0x15, 0, 3, known[0]),
        (0x20, 0, 0, 0),  # load the call's number
        (0x15, 0, 1, known[1]),
        (0x06, 0, 0, 0x00050000 | errno.EPERM),  # refuse
        (0x06, 0, 0, 0x7FFF0000),  # allow
    ]
    program = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *rule) for rule in rules))
    header = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(rules), ctypes.addressof(program)))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        return False
    return bool(libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, header, 0, 0) == 0)
