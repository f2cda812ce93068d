"""Errors between this package and a bucket, besides those that all callers know. Importing them needs no client."""

from __future__ import annotations

from kgfs.errors import KgfsError, MissingError, UnavailableError


class NoKeysError(ValueError):
    """There are no credentials to sign a request with. The message names files, never a key. Never leaves this
    package."""


class NoBucketError(UnavailableError):
    """The bucket itself does not exist. Nothing but ``kgfs doctor --create`` makes one."""

    exit_code = MissingError.exit_code


class NotAllowedError(UnavailableError):
    """The credentials do not permit the request."""


class TakenError(KgfsError):
    """The name is taken by another object. Never leaves this package."""


class ChangedError(KgfsError):
    """The bytes that arrived are not those that were hashed. Never leaves this package."""


class ShortError(KgfsError):
    """The object ends before the requested range. Never leaves this package."""
