"""What goes wrong between this package and a bucket, besides what everybody is told. Needs no client to be named."""

from __future__ import annotations

from kgfs.errors import AwayError, KgfsError, MissingError


class NoKeysError(ValueError):
    """There is nothing to sign with; what is said names files, no key. Never leaves this package."""


class NoBucketError(MissingError):
    """The bucket itself is not there."""


class NotAllowedError(AwayError):
    """The keys may not do what was asked."""


class TakenError(KgfsError):
    """Something stands under the name already. Never leaves this package."""


class ChangedError(KgfsError):
    """The bytes that arrived are not those that were hashed. Never leaves this package."""


class ShortError(KgfsError):
    """The object ends before what was asked for. Never leaves this package."""
