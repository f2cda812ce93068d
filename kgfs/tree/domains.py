"""Serve ``<Ontology>/.kgfs/domains.toml``, the domains of an ontology as a file: who writes it sets them."""

from __future__ import annotations

import time
from collections.abc import Hashable, Sequence

from kgfs.domain.documents import Ontology
from kgfs.domain.domains import SETTING, Domains, domains_of, from_toml, serialised, to_toml
from kgfs.errors import BadInputError, FileTooLargeError, MissingError
from kgfs.stores.catalog.facts import SettingChanged
from kgfs.stores.thread_slots import blocks
from kgfs.tree import keys
from kgfs.tree.derived import Derived, DerivedFolder, derived_attr
from kgfs.tree.node import FILE_MODE, Attr, AttrChange, File, Handle, Node
from kgfs.tree.tree_context import TreeContext

NAME = ".kgfs"
FILE = "domains.toml"
LONGEST = 1 << 16
"""Bytes of the file."""


class SettingsFolder(DerivedFolder[None]):
    """Serve ``.kgfs/`` of an ontology."""

    __slots__ = ("_ontology",)

    def __init__(self, context: TreeContext, ontology: Ontology) -> None:
        super().__init__(context, keys.part(ontology.id, NAME))
        self._ontology = ontology

    def mtime(self) -> int:
        if self.context.stores.catalog.names.ontology(self._ontology.id) is None:
            raise MissingError("The ontology was removed.")
        return self._ontology.made_at

    def entries(self) -> Sequence[tuple[str, Node]]:
        return [(FILE, DomainsFile(self.context, self._ontology))]

    def token(self) -> Hashable | None:
        return None


class DomainsFile(Derived[None], File):
    """Serve ``domains.toml``. The kernel caches nothing of it."""

    __slots__ = ("_ontology",)

    def __init__(self, context: TreeContext, ontology: Ontology) -> None:
        super().__init__(context, keys.part(ontology.id, f"{NAME}/{FILE}"))
        self._ontology = ontology

    def attr(self) -> Attr:
        size = len(self.content())
        return derived_attr(self.context, self.inode, FILE_MODE, size, self.context.mounted_at, direct_io=True)

    def change(self, wanted: AttrChange) -> Attr:
        if (wanted.mode, wanted.uid, wanted.gid) != (None, None, None):
            return super().change(wanted)
        if wanted.size is not None:
            handle = DomainsHandle(self, self.content())
            handle.truncate(wanted.size)
            handle.release()
        return self.attr()

    def open(self, *, read: bool, write: bool, truncate: bool, append: bool = False) -> Handle:
        handle = DomainsHandle(self, self.content())
        if truncate:
            handle.truncate(0)
        return handle

    def content(self) -> bytes:
        return to_toml(self._domains()).encode()

    def _domains(self) -> Domains:
        names = self.context.stores.catalog.names
        if names.ontology(self._ontology.id) is None:
            raise MissingError("The ontology was removed.")
        return domains_of(names.settings(self._ontology.id))

    def set(self, content: bytes) -> None:
        """Set the domains that a file has. *Blocks*. Raise BadInputError for what is no such file; then nothing changes."""
        try:
            wanted = from_toml(content)
        except BadInputError as error:
            place = f"{self._ontology.name}/{NAME}/{FILE}"
            raise BadInputError(f"{place}: {error} The domains stay as they were.").to_be_logged() from error
        if wanted != self._domains():
            fact = SettingChanged(self._ontology.id, SETTING, serialised(wanted), time.time_ns())
            self.context.deposits.record(fact)


class DomainsHandle(Handle):
    """Hold what is written until it is flushed."""

    __slots__ = ("_content", "_file", "_is_cut", "_is_written")
    direct_io = True

    def __init__(self, file: DomainsFile, content: bytes) -> None:
        self._file = file
        self._content = bytearray(content)
        self._is_written = False
        self._is_cut = False

    def read(self, offset: int, length: int) -> bytes:
        return bytes(self._content[offset : offset + length])

    def write(self, offset: int, data: bytes) -> int:
        self._reach(offset + len(data))
        self._content[offset : offset + len(data)] = data
        self._is_written = True
        return len(data)

    def truncate(self, size: int) -> None:
        self._reach(size)
        del self._content[size:]
        self._is_cut = True

    def _reach(self, size: int) -> None:
        if size > LONGEST:
            raise FileTooLargeError(f"{FILE} has at most {LONGEST:,} bytes.")
        self._content.extend(bytes(max(0, size - len(self._content))))

    def flush(self) -> None:
        # A shell closes its first descriptor before it has written anything: what was only cut waits for the last one.
        if self._is_written:
            self._set()

    def release(self) -> None:
        if self._is_written or self._is_cut:
            self._set()

    def _set(self) -> None:
        blocks()
        self._is_written = self._is_cut = False
        self._file.set(bytes(self._content))
