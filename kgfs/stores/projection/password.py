"""The driver's authentication: the password as its file has it now."""

from __future__ import annotations

import time

from neo4j import Auth, basic_auth
from neo4j.auth_management import AuthManager
from neo4j.exceptions import AuthError, Neo4jError

from kgfs.stores import timing
from kgfs.stores.projection.endpoint import Endpoint


class PasswordFile(AuthManager):
    """Read the password for each connection. While the file cannot be read, or is being written, the last one is used."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._password = endpoint.password
        self._refused: tuple[object, float] | None = None
        """The last refused credentials, and the monotonic time until which they are not sent again."""

    def get_auth(self) -> Auth:
        """Return the credentials. AuthError for those that were just refused."""
        auth = self._current()
        if self._refused is not None and self._refused[0] == auth and time.monotonic() < self._refused[1]:
            raise AuthError("refused a moment ago")
        return auth

    def handle_security_exception(self, auth: object, error: Neo4jError) -> bool:
        """Return whether to try again: the file holds another password than the refused one."""
        if isinstance(error, AuthError):
            self._refused = (auth, time.monotonic() + timing.PASSWORD_REFUSED)
        return self._current() != auth

    def _current(self) -> Auth:
        if self._endpoint.password_file is not None:
            try:
                self._password = self._endpoint.password_file.read_text("utf-8").strip() or self._password
            except (OSError, UnicodeDecodeError):
                pass
        return basic_auth(self._endpoint.user, self._password)
