"""Who we are to the server, with the password as its file has it now."""

from __future__ import annotations

from neo4j import Auth, basic_auth
from neo4j.auth_management import AuthManager
from neo4j.exceptions import Neo4jError

from kgfs.stores.graph.neo4j.place import Place


class Entering(AuthManager):
    """Asked whenever a connection is taken; one that came in with a former password comes in again. While the file cannot be
    read, or is being written, the password is what it was."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._password = place.password

    def get_auth(self) -> Auth:
        if self._place.password_file is not None:
            try:
                self._password = self._place.password_file.read_text("utf-8").strip() or self._password
            except (OSError, UnicodeDecodeError):
                pass
        return basic_auth(self._place.user, self._password)

    def handle_security_exception(self, auth: object, error: Neo4jError) -> bool:
        """Whether it makes sense to try again: with another password than the one that was refused."""
        return self.get_auth() != auth
