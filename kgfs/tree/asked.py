"""The folders whose names are asked: ``search/`` and ``ask/``, and those in them, which go on with what is asked.

Every name is there, known from the name alone; ``kgfs.tree.search`` and ``kgfs.tree.ask`` say what is in its folder. The folders
list the names below which something is saved. A name is saved with ``touch``: since every name exists already, the kernel
itself answers ``mkdir`` with EEXIST. ``rmdir`` takes a saved one out of the listing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass

from kgfs.domain.names import decode_name
from kgfs.errors import ExistsError, MissingError, NotEmptyError, RefusedError
from kgfs.tree import keys
from kgfs.tree.derived import DerivedFolder
from kgfs.tree.invalidation import Invalidations
from kgfs.tree.keys import Key
from kgfs.tree.node import Caller, Folder, Node
from kgfs.tree.tree_context import TreeContext

FOLDERS, FILES = "folders", "files"
NO_WORDS = re.compile(
    r"\..*|desktop\.ini|autorun\.inf|thumbs\.db|ehthumbs\.db|folder\.jpg|lost\+found|system volume information"
    r"|\$recycle\.bin|recycler|__macosx|node_modules|cvs|rcs|audio_ts|video_ts|bdmv|aacs|icon\r|\W*",
    re.IGNORECASE,
)
"""Names that programs look for in every folder. They are never asked, and no entry has such a name."""


@dataclass(frozen=True, slots=True)
class Kind:
    """What is asked in one of the two folders."""

    name: str
    """The name of the folder, and of the group of its nodes."""
    one: str
    """What an entry is called."""
    folder: Callable[[TreeContext, str, tuple[str, ...], int], Folder]
    """Return the folder of these names in an ontology ('' for all), and of the time at which the first folder was made."""
    saved: Callable[[TreeContext, str], Mapping[str, int]]
    """Return the times (nanoseconds) at which the saved ones of an ontology were saved, by names joined by ``/``."""
    remove: Callable[[TreeContext, str, str], None]
    """Record that a saved one is removed."""


def is_question(name: str) -> bool:
    """Return whether a name is asked. *Quick*."""
    return NO_WORDS.fullmatch(words_in(name)) is None


def words_in(name: str) -> str:
    """Return the words of an encoded name, in which ``%2F`` stands for a slash."""
    return decode_name(name).decode("utf-8", "replace").replace("%2F", "/").replace("%2f", "/")


class AskedFolder(DerivedFolder[None]):
    """The base of a folder that goes on with what is asked."""

    __slots__ = ("_kind", "_names", "_ontology_id", "_since")

    def __init__(
        self, context: TreeContext, key: Key, kind: Kind, ontology_id: str, names: tuple[str, ...], since: int
    ) -> None:
        """Create the folder. ``ontology_id`` is '' where all ontologies are asked; ``since`` is the time at which ``search/`` or
        ``ask/`` was made, in nanoseconds.
        """
        super().__init__(context, key)
        self._kind = kind
        self._ontology_id = ontology_id
        self._names = names
        self._since = since

    def group(self) -> tuple[str, Hashable] | None:
        return self._kind.name, FOLDERS

    def mtime(self) -> int:
        """Return the time of the newest epoch, since what is found may differ from what was found earlier."""
        stores = self.context.stores
        asked = [self._ontology_id] if self._ontology_id else [one.id for one in stores.catalog.names.ontologies()]
        return max([self._since, *(stores.graph.changed_at(each) for each in asked)])

    def token(self) -> Hashable | None:
        # The kernel must cache neither listings nor absent names, because they belong to one answer.
        return None

    def listed(self) -> list[tuple[str, Node]]:
        """Return the names in the folder that lead to what is saved, in order."""
        return [(name, self.nested(name)) for name in self._below(self._names)]

    def nested(self, name: str) -> Folder:
        return self._kind.folder(self.context, self._ontology_id, (*self._names, name), self._since)

    def is_asked(self, name: str) -> bool:
        """Return whether a folder of this name is there."""
        return is_question(name)

    def make_folder(self, name: str, mode: int, caller: Caller) -> Folder:
        if not self.is_asked(name):
            raise RefusedError(f"'{name}' is no {self._kind.one}: programs look for it, or it is a file of an answer.")
        raise ExistsError(f"Every {self._kind.one} is there already. To have '{name}' listed: touch it")

    def remove_folder(self, name: str) -> None:
        """Take a saved name out of the listing. Raise MissingError if it is not saved, and NotEmptyError where only others are
        saved that go on below it."""
        names = (*self._names, name)
        if "/".join(names) not in self._saved():
            if self._below(names):
                raise NotEmptyError(f"Others that go on below '{name}' are saved. Remove these first.")
            raise MissingError(f"The {self._kind.one} '{name}' is not saved.")
        self._kind.remove(self.context, self._ontology_id, "/".join(names))

    def _saved(self) -> Mapping[str, int]:
        return self._kind.saved(self.context, self._ontology_id)

    def _below(self, names: tuple[str, ...]) -> list[str]:
        found: dict[str, None] = {}
        for path in self._saved():
            parts = tuple(path.split("/"))
            if len(parts) > len(names) and parts[: len(names)] == names:
                found[parts[len(names)]] = None
        return list(found)


class FirstFolder(AskedFolder):
    """Serve ``search/`` or ``ask/`` itself. It is not listed, so that no program that walks the tree enters it."""

    __slots__ = ()

    def __init__(self, context: TreeContext, kind: Kind, ontology_id: str, since: int) -> None:
        super().__init__(context, keys.part(ontology_id, kind.name), kind, ontology_id, (), since)

    def group(self) -> tuple[str, Hashable] | None:
        return None

    def mtime(self) -> int:
        return max([self._since, *self._saved().values()])

    def token(self) -> Hashable | None:
        # What is saved must appear in the listing before the change feed reports it.
        return self.context.stores.catalog.seq()

    def lookup(self, name: str) -> Node | None:
        return self.nested(name) if is_question(name) else None

    def entries(self) -> Sequence[tuple[str, Node]]:
        return self.listed()


def found_changed(kind: Kind, stale: Invalidations) -> None:
    """Invalidate what was found, which may be gone or have other contents or paths: its names are looked up again."""
    for inode, _ in stale.group(kind.name, FOLDERS):
        stale.inode(inode)
    for _, known in stale.group(kind.name, FILES):
        for place in known.places():
            stale.entry(*place)
