"""Every error kgfs raises on purpose: what went wrong, which errno a program sees, which exit code a shell sees.

Nothing else may leave a public function on purpose. ``fuse`` turns ``errno`` into an answer to the
kernel, ``cli`` turns ``exit_code`` into the status of the process; both print ``str(error)``, so a
message names the file or setting concerned and what to do about it.

Exit codes: 1 something failed, 2 the call was wrong (click's own), 3 bad input, 4 a thing is missing,
5 a conflict with what exists, 6 the machine lacks something, 7 a store failed, 8 timed out,
9 nobody is working (no worker alive).
"""

from __future__ import annotations

import errno
from typing import Self


class KgfsError(Exception):
    """Root of the hierarchy. Subclasses set both numbers; a message is one or two sentences."""

    errno: int = errno.EIO
    exit_code: int = 1
    logged: bool = False
    """Whether a mount writes it to errors.ndjson, although it is the caller's: its remedy is more than the number tells."""

    def to_be_logged(self) -> Self:
        self.logged = True
        return self


class BadInputError(KgfsError):
    """The caller's data or words cannot be used as they are."""

    errno = errno.EINVAL
    exit_code = 3


class NameTooLongError(BadInputError):
    errno = errno.ENAMETOOLONG


class MissingError(KgfsError):
    """The thing named does not exist (any more)."""

    errno = errno.ENOENT
    exit_code = 4


class GoneError(MissingError):
    """What the kernel found a moment ago is gone. It looks the name up again, and finds what stands there now."""

    errno = errno.ESTALE


class FileTooLargeError(BadInputError):
    """A file would get longer than the setting ``tree.max_file``."""

    errno = errno.EFBIG


class NoSuchAttributeError(MissingError):
    """No such extended attribute."""

    errno = errno.ENODATA


class ExistsError(KgfsError):
    """The name is taken."""

    errno = errno.EEXIST
    exit_code = 5


class DuplicateError(ExistsError):
    """The ontology has these bytes under another path, and is to have each content once."""


class NotEmptyError(KgfsError):
    errno = errno.ENOTEMPTY
    exit_code = 5


class NotAFolderError(KgfsError):
    errno = errno.ENOTDIR
    exit_code = 3


class IsAFolderError(KgfsError):
    errno = errno.EISDIR
    exit_code = 3


class BusyError(KgfsError):
    """Somebody else holds it; trying later can succeed."""

    errno = errno.EBUSY
    exit_code = 5


class CrowdedError(BusyError):
    """As much is being asked as is worked out at one time; asking again later can succeed."""

    errno = errno.EAGAIN


class GivenUpError(KgfsError):
    """Whoever asked does not wait for the answer any more."""

    errno = errno.EINTR


class DerivedError(KgfsError):
    """A derived view was asked to change; change the documents instead."""

    errno = errno.EROFS
    exit_code = 5


class RefusedError(KgfsError):
    """A rule of the tree forbids it (folders at an ontology's root, hard links, taken names)."""

    errno = errno.EPERM
    exit_code = 5


class UnsupportedError(KgfsError):
    """kgfs does not do this, and says so instead of pretending."""

    errno = errno.EOPNOTSUPP
    exit_code = 3


class MachineError(KgfsError):
    """This machine lacks something kgfs needs; ``kgfs doctor`` tells what and how to get it."""

    errno = errno.ENODEV
    exit_code = 6


class ModelMissingError(MachineError):
    """A model file is absent or its SHA-256 is not the expected one."""


class StoreError(KgfsError):
    """A store failed: the disk, a database, later a server. Nothing acknowledged is lost."""

    exit_code = 7


class RotError(StoreError):
    """Kept bytes are not the bytes that were put. The reader gets EIO, never wrong bytes."""


class FullError(StoreError):
    """No space is left where the home stands; what was acknowledged is safe."""

    errno = errno.ENOSPC


class AwayError(StoreError):
    """A server of the home cannot be used: it is not reached, is not ready, or takes our keys no more. What is on this machine
    can be used; trying later, or with other keys, can succeed."""


class OlderCopyError(StoreError):
    """The names here are an older copy of what the ledger knows: what would be written now would get numbers a second time."""


class OvertakenError(StoreError):
    """Others have written under the numbers that were to be written; what they wrote comes first."""


class LostLeaseError(StoreError):
    """A worker's lease ran out and somebody else took the job; the result must not be committed."""

    errno = errno.ESTALE


class TimedOutError(KgfsError):
    errno = errno.ETIMEDOUT
    exit_code = 8


AWAY = (AwayError, TimedOutError)
"""How a server that cannot be used now is told of: trying later can succeed."""


class StoppingError(KgfsError):
    """The mount is being taken down; what was asked was not done."""

    errno = errno.ENOTCONN
    exit_code = 5


class NoWorkerError(KgfsError):
    """Work is owed and no worker is alive to do it."""

    errno = errno.EAGAIN
    exit_code = 9


class UnreadableTextError(BadInputError):
    """The parser cannot make a Text of these bytes; the document's state becomes ``unsupported``."""


def from_os_error(error: OSError, what: str) -> KgfsError:
    """The typed error for an OSError met while doing ``what`` (a phrase with the file's name)."""
    full = (errno.ENOSPC, errno.EDQUOT)
    if error.errno in full:
        return FullError(f"{what}: no space left on the device. Free space, then try again.")
    failure = StoreError(f"{what}: {error.strerror or error}")
    if error.errno is not None:
        failure.errno = error.errno
    return failure
