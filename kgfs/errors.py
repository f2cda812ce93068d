"""Every error that kgfs raises on purpose, with its errno for programs and its exit code for shells.

No other exception may leave a public function on purpose. ``fuse`` turns ``errno`` into the reply to the kernel,
``cli`` turns ``exit_code`` into the status of the process. Both print ``str(error)``, so a message names the file or
setting concerned and the remedy.

Exit codes: 1 something failed, 2 the call was wrong (click's own), 3 bad input, 4 something is missing, 5 a conflict
with what exists, 6 the machine lacks something, 7 a store failed, 8 timed out, 9 no worker is alive.
"""

from __future__ import annotations

import errno
from typing import Self


class KgfsError(Exception):
    """The root of the hierarchy. Subclasses set errno and exit code; a message is one or two sentences."""

    errno: int = errno.EIO
    exit_code: int = 1
    logged: bool = False
    """Whether a mount writes the error to errors.ndjson although the caller caused it: the message says more of the
    remedy than the errno does."""

    def to_be_logged(self) -> Self:
        self.logged = True
        return self


class BadInputError(KgfsError):
    """The caller's data or arguments cannot be used as they are."""

    errno = errno.EINVAL
    exit_code = 3


class NameTooLongError(BadInputError):
    errno = errno.ENAMETOOLONG


class MissingError(KgfsError):
    """The named thing does not exist, or does not exist any more."""

    errno = errno.ENOENT
    exit_code = 4


class GoneError(MissingError):
    """A node that the kernel just looked up is gone.

    The kernel then looks the name up again and finds its present node.
    """

    errno = errno.ESTALE


class FileTooLargeError(BadInputError):
    """A write would make a file longer than the setting ``tree.max_file``."""

    errno = errno.EFBIG


class NoSuchAttributeError(MissingError):
    """The extended attribute does not exist."""

    errno = errno.ENODATA


class ExistsError(KgfsError):
    """The name is taken."""

    errno = errno.EEXIST
    exit_code = 5
    logged = True


class DuplicateError(ExistsError):
    """The ontology has these bytes under another path and is configured to have each content once."""


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
    """Another process or thread holds the resource; a later retry can succeed."""

    errno = errno.EBUSY
    exit_code = 5


class CrowdedError(BusyError):
    """The limit of concurrent requests is reached; a later retry can succeed."""

    errno = errno.EAGAIN


class GivenUpError(KgfsError):
    """The caller does not wait for the answer any more."""

    errno = errno.EINTR


class ReadOnlyError(KgfsError):
    """A write was attempted on a derived, read-only view; the documents can be changed instead."""

    errno = errno.EROFS
    exit_code = 5
    logged = True


class NotOwnerError(ReadOnlyError):
    """Another home has the right to write to this home's bucket. This home can be read, and writes nothing."""


class RefusedError(KgfsError):
    """A rule of the tree forbids the operation (folders at an ontology's root, hard links, taken names)."""

    errno = errno.EPERM
    exit_code = 5
    logged = True


class UnsupportedError(KgfsError):
    """kgfs does not implement the operation, and says so instead of pretending."""

    errno = errno.EOPNOTSUPP
    exit_code = 3


class MachineError(KgfsError):
    """This machine lacks something that kgfs needs; ``kgfs doctor`` tells what it is and how to get it."""

    errno = errno.ENODEV
    exit_code = 6


class ModelMissingError(MachineError):
    """A model file is absent or its SHA-256 is not the expected one."""


class StoreError(KgfsError):
    """A store failed: the disk, a database or a server. Nothing acknowledged is lost."""

    exit_code = 7


class CorruptError(StoreError):
    """Stored bytes differ from the bytes that were put. The reader gets EIO, never wrong bytes."""


class NoSpaceError(StoreError):
    """No space is left on the home's filesystem. What was acknowledged is safe."""

    errno = errno.ENOSPC


class UnavailableError(StoreError):
    """A server of the home cannot be used: it is unreachable, not ready, or rejects this home's keys.

    What is on this machine can be used. A retry later, or with other keys, can succeed.
    """


class OlderCopyError(StoreError):
    """The names database here is an older copy than the ledger.

    A write now would reuse numbers that the ledger has assigned.
    """


class OvertakenError(StoreError):
    """Another home has written entries under the numbers that were to be written."""


class LostLeaseError(StoreError):
    """A worker's lease expired and another worker took the job. The result must not be committed."""

    errno = errno.ESTALE


class PostponedError(LostLeaseError):
    """The worker stops reading a document for the time being, because others wait. What was done of it is kept."""


class TimedOutError(KgfsError):
    errno = errno.ETIMEDOUT
    exit_code = 8


AWAY = (UnavailableError, TimedOutError)
"""The errors that mean a server cannot be used now: a later retry can succeed."""


class StoppingError(KgfsError):
    """The mount is stopping; the requested operation was not done."""

    errno = errno.ENOTCONN
    exit_code = 5


class NoWorkerError(KgfsError):
    """Work is pending and no worker is alive to do it."""

    errno = errno.EAGAIN
    exit_code = 9


class UnreadableTextError(BadInputError):
    """The parser cannot make a Text of these bytes. The document's state becomes ``unsupported``."""


class UnreadableAnswersError(KgfsError):
    """A language model gave no usable answer for any Source of a document. The document's state becomes ``failed``."""


class ParserFailedError(KgfsError):
    """The process that parsed a document crashed. It is tried again; after the last attempt the document is ``failed``."""


def from_os_error(error: OSError, what: str) -> KgfsError:
    """Return the typed error for an OSError that occurred while doing ``what`` (a phrase with the file's name).

    A full disk or an exceeded quota gives NoSpaceError; anything else gives StoreError with the OSError's errno.
    """
    full = (errno.ENOSPC, errno.EDQUOT)
    if error.errno in full:
        return NoSpaceError(f"{what}: no space left on the device. Free space, then try again.")
    failure = StoreError(f"{what}: {error.strerror or error}")
    if error.errno is not None:
        failure.errno = error.errno
    return failure
