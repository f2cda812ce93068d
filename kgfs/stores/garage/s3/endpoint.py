"""The address of a bucket, and the settings of its client."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from kgfs.errors import BadInputError
from kgfs.settings import is_address

_BUCKET = re.compile(r"(?!.*(\.\.|\.-|-\.))(?!\d+(\.\d+){3}$)[A-Za-z0-9][A-Za-z0-9._:-]{1,61}[A-Za-z0-9]")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A bucket or a part of one. It holds the names of files with secrets, never a secret.

    Raise BadInputError for settings that are not valid.
    """

    endpoint: str
    """``http://host:port`` or ``https://host``."""
    bucket: str
    prefix: str = ""
    """The beginning of all object names, so that several homes can share a bucket."""
    region: str = ""
    """The region; if it is empty the server is asked for it."""
    path_style: bool = True
    """Whether addresses are ``host/bucket/name`` instead of ``bucket.host/name``."""
    access_key_file: Path | None = None
    secret_key_file: Path | None = None
    """Without the two files the credentials come from ``AWS_ACCESS_KEY_ID`` and ``AWS_SECRET_ACCESS_KEY``, then
    ``~/.aws/credentials``, then this machine's cloud instance."""
    ca_file: Path | None = None
    """Certificates to trust instead of the usual ones."""
    timeout: float = 30.0
    """The seconds for which the server may be silent."""

    @property
    def shown(self) -> str:
        """Return the address for messages."""
        return f"{self.endpoint}/{self.bucket}"

    def __post_init__(self) -> None:
        if not is_address(self.endpoint, "http", "https"):
            raise BadInputError(f"garage.endpoint is http://host:port or https://host, not '{self.endpoint}'.")
        if not self.bucket:
            raise BadInputError("garage.bucket is empty. Name the bucket that holds the garage.")
        if not _BUCKET.fullmatch(self.bucket):
            raise BadInputError(
                f"garage.bucket '{self.bucket}' is no name of a bucket: 3 to 63 letters, digits, dots and hyphens."
            )
        if bool(self.access_key_file) != bool(self.secret_key_file):
            raise BadInputError("garage.access_key_file and garage.secret_key_file go together. Set both, or neither.")
        if self.ca_file and not self.ca_file.is_file():
            raise BadInputError(f"garage.ca_file: {self.ca_file} is no file.")
