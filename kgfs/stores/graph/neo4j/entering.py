"""Who we are to the server, with the password as its file has it now."""

from __future__ import annotations

import time

from neo4j import Auth, basic_auth
from neo4j.auth_management import AuthManager
from neo4j.exceptions import AuthError, Neo4jError

from kgfs.stores.graph.neo4j.place import Place

REFUSED = 30.0
"""Seconds that a password which was refused is not said again. After three wrong ones the server lets nobody in under that user,
for some seconds more with each further one: a machine with an old password would shut out all that have the new one."""


class Entering(AuthManager):
    """Asked whenever a connection is taken; one that came in with a former password comes in again. While the file cannot be
    read, or is being written, the password is what it was."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._password = place.password
        self._refused: tuple[object, float] | None = None
        """The last one, and until when it is not said again."""

    def get_auth(self) -> Auth:
        """AuthError for one that was just refused."""
        auth = self._current()
        if self._refused is not None and self._refused[0] == auth and time.monotonic() < self._refused[1]:
            raise AuthError("refused a moment ago")
        return auth

    def handle_security_exception(self, auth: object, error: Neo4jError) -> bool:
        """Whether it makes sense to try again: with another password than the one that was refused."""
        if isinstance(error, AuthError):
            self._refused = (auth, time.monotonic() + REFUSED)
        return self._current() != auth

    def _current(self) -> Auth:
        if self._place.password_file is not None:
            try:
                self._password = self._place.password_file.read_text("utf-8").strip() or self._password
            except (OSError, UnicodeDecodeError):
                pass
        return basic_auth(self._place.user, self._password)
