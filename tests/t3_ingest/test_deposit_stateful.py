"""Any history of deposits, settlings and crashes shows the same files as plain dictionaries would."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kgfs.domain.documents import NameKind, StorageTier
from kgfs.domain.names import is_document_name
from kgfs.ingest.storing.content import SMALL
from kgfs.ingest.writing.open_file import OpenFile
from kgfs.stores.ship import restore_catalog, ship_once
from kgfs.stores.spool_file import SpoolFile
from tests.support.depositing import open_desk

NAMES = st.sampled_from(["a.txt", "b.txt", ".a.txt.swp", "a.txt~", "c.md"])
FOLDERS = st.sampled_from(["", "sub"])
CONTENTS = st.one_of(
    st.sampled_from([b"", b"one", b"two", b"x" * SMALL, b"y" * (SMALL + 1), b"z" * (3 * SMALL)]),
    st.binary(max_size=20),
)


class Home(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.base = Path(tempfile.mkdtemp(prefix="kgfs-stateful-"))
        self.desk = open_desk(self.base)
        self.files: dict[tuple[str, str], bytes] = {}
        self.open: tuple[tuple[str, str], OpenFile] | None = None

    @initialize()
    def folders(self) -> None:
        root = self.desk.ontology().root
        self.parents = {"": root, "sub": self.desk.deposits.make_folder(root, "sub", 0o755, 0, 0).id}

    def id_of(self, place: tuple[str, str]) -> int:
        found = self.desk.catalog.names.child(self.parents[place[0]], place[1])
        assert found is not None
        return found.id

    @rule(folder=FOLDERS, name=NAMES, content=CONTENTS)
    def write(self, folder: str, name: str, content: bytes) -> None:
        place = (folder, name)
        if place in self.files:
            self.desk.write(self.id_of(place), content)
        else:
            self.desk.file(name, content, self.parents[folder])
        self.files[place] = content

    @precondition(lambda self: self.files)
    @rule(data=st.data(), tail=CONTENTS)
    def append(self, data: st.DataObject, tail: bytes) -> None:
        place = data.draw(st.sampled_from(sorted(self.files)))
        file = self.desk.deposits.open(self.id_of(place), append=True)
        file.write(0, tail)
        file.flush()
        file.write(0, b"!")
        file.release()
        self.files[place] += tail + b"!"

    @precondition(lambda self: self.files and self.open is None)
    @rule(data=st.data(), tail=CONTENTS)
    def open_and_write(self, data: st.DataObject, tail: bytes) -> None:
        """Left open, flushed once."""
        place = data.draw(st.sampled_from(sorted(self.files)))
        file = self.desk.deposits.open(self.id_of(place), append=True)
        file.write(0, tail)
        file.flush()
        self.files[place] += tail
        self.open = (place, file)

    @precondition(lambda self: self.open is not None)
    @rule()
    def close_open(self) -> None:
        assert self.open is not None
        self.open[1].release()
        self.open = None

    @precondition(lambda self: self.files)
    @rule(data=st.data(), folder=FOLDERS, name=NAMES)
    def move(self, data: st.DataObject, folder: str, name: str) -> None:
        place = data.draw(st.sampled_from(sorted(self.files)))
        self.desk.deposits.move(self.id_of(place), self.parents[folder], name, replace=True)
        self.files[(folder, name)] = self.files.pop(place)
        if self.open and self.open[0] == place:
            self.open = ((folder, name), self.open[1])

    @precondition(lambda self: self.files)
    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        place = data.draw(st.sampled_from(sorted(self.files)))
        self.desk.deposits.remove(self.id_of(place))
        del self.files[place]

    @rule(folder=FOLDERS, name=NAMES, content=CONTENTS)
    def ingest(self, folder: str, name: str, content: bytes) -> None:
        place = (folder, name)
        if self.open and self.open[0] == place:
            return  # a living writer: the command would wait for it
        source = self.base / "source"
        source.write_bytes(content)
        done = self.desk.deposits.ingest_file(source, "Notes", f"{folder}/{name}" if folder else name)
        assert bool(done.doc_id) == (bool(content) and is_document_name(name))
        self.files[place] = content

    @rule()
    def settle(self) -> None:
        self.desk.settle()

    @rule()
    def crash(self) -> None:
        """Nothing is closed; the next process sees what was flushed, and the kernel drops what the dead one locked."""
        self.open = None
        for copy in self.desk.deposits.copies._copies.values():
            if isinstance(copy._content, SpoolFile):
                copy._content.let_go()
        self.desk.close()
        self.desk = open_desk(self.base)

    @rule()
    def lose_the_database(self) -> None:
        if self.open:
            self.close_open()
        self.desk.settle()
        ship_once(self.desk.catalog, self.desk.stores.garage.ledger)
        self.desk.close()
        for path in self.base.glob("front.sqlite*"):
            path.unlink()
        self.desk = open_desk(self.base)
        restore_catalog(self.desk.catalog, self.desk.stores.garage.ledger)

    @invariant()
    def the_tree_is_the_model(self) -> None:
        if not hasattr(self, "parents"):
            return
        for folder, parent in self.parents.items():
            rows = self.desk.catalog.names.children(parent)
            found = {row.name: row for row in rows if row.kind is NameKind.FILE}
            assert sorted(found) == sorted(name for where, name in self.files if where == folder)
            for name, row in found.items():
                content = self.files[(folder, name)]
                assert self.desk.read(row.id) == content
                assert row.size == len(content)
                assert row.sha256 == (hashlib.sha256(content).hexdigest() if content else "")

    def teardown(self) -> None:
        if self.open:
            self.open[1].release()
        self.desk.settle()
        self.desk.settle()  # of two decisions that touch one history the later may be taken again
        assert not self.desk.config.errors_log.exists(), self.desk.config.errors_log.read_text()
        catalog = self.desk.catalog
        for place, content in self.files.items():
            row = self.desk.row(self.id_of(place))
            assert row.settled
            assert row.place is (StorageTier.GARAGE if content else StorageTier.NONE)
            document = content and is_document_name(place[1])
            assert bool(row.doc_id) == bool(document)
            if document:
                assert self.desk.stores.garage.objects.get(row.key) == content
                versions = catalog.names.versions(row.id)
                assert versions[-1].sha256 == row.sha256
                assert [version.n for version in versions] == list(range(1, len(versions) + 1))
        self.desk.deposits.settler.sweep()
        assert self.desk.spool_files() == []
        self.desk.close()
        shutil.rmtree(self.base)


Home.TestCase.settings = settings(max_examples=30, stateful_step_count=20, deadline=None)
TestHome = Home.TestCase
