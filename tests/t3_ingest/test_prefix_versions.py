"""Files that grow: an earlier version takes no space where its successor begins with it, and stays byte for byte."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from kgfs.errors import CorruptError, KgfsError, NoSpaceError
from kgfs.ingest.writing import trash
from kgfs.stores.garage.prefix_links import LINKS
from tests.support.depositing import Desk, desk_at
from tests.support.peers.homes import EMBEDDED

pytestmark = pytest.mark.peers(EMBEDDED, "seaweedfs")
LINE = b'{"type": "user", "message": "0123456789abcdef"}\n'
START = LINE * 3000


def grow(desk: Desk, times: int) -> tuple[int, list[bytes]]:
    name = desk.file("log.txt", START)
    desk.settle()
    versions = [START]
    for _ in range(times):
        versions.append(versions[-1] + LINE)
        desk.write(name.id, versions[-1])
        desk.settle()
    return name.id, versions


def kept(desk: Desk, name_id: int) -> list[bytes]:
    return [desk.stores.garage.objects.get(one.key) for one in desk.catalog.names.versions(name_id)]


def taken(desk: Desk) -> int:
    """The bytes that originals take in the garage."""
    return sum(size for _, size in desk.stores.garage.objects.stored.keys("sources/"))


def test_versions_of_a_growing_file_take_its_length_once(desk: Desk) -> None:
    name_id, versions = grow(desk, 6)
    assert kept(desk, name_id) == versions
    assert taken(desk) == len(versions[-1])
    desk.write(name_id, b"something else")
    desk.settle()
    assert kept(desk, name_id) == [*versions, b"something else"]
    assert taken(desk) == len(versions[-1]) + len(b"something else")
    desk.write(name_id, versions[2])  # bytes that are known, and have no object of their own
    desk.settle()
    assert desk.read(name_id) == versions[2]
    assert taken(desk) == len(versions[-1]) + len(b"something else")


@pytest.mark.parametrize("met", [NoSpaceError, CorruptError])
def test_what_others_rest_on_stays_on_a_full_disk_and_where_it_is_rotten_and_the_rest_goes(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, met: type[KgfsError]
) -> None:
    name_id, versions = grow(desk, 1)
    other, large = desk.file("copy.txt", START), desk.file("large.txt", LINE[1:] * 4000)
    desk.settle()
    newest, key = (desk.catalog.names.versions(name_id)[-1].key, desk.row(large.id).key)
    for gone in (name_id, large.id):
        desk.deposits.remove(gone)

    def fail(*_: object) -> None:
        raise met("The disk is full, or rotten.")

    with monkeypatch.context() as patch:
        patch.setattr("kgfs.stores.garage.prefixes.PrefixObjects._write_out", fail)
        with pytest.raises(met):
            trash.empty(desk.stores, desk.deposits.settler)
    assert not desk.stores.garage.objects.exists(key)
    assert desk.stores.garage.objects.get(newest) == versions[-1]
    trash.empty(desk.stores, desk.deposits.settler)
    assert not desk.stores.garage.objects.exists(newest)
    assert desk.read(other.id) == START
    assert taken(desk) == len(START)


def test_nothing_is_left_of_a_file_whose_trash_is_emptied(desk: Desk) -> None:
    name_id, versions = grow(desk, 4)
    other = desk.file("copy.txt", versions[1])
    desk.settle()
    desk.deposits.remove(name_id)
    trash.empty(desk.stores, desk.deposits.settler)
    assert desk.read(other.id) == versions[1]
    assert taken(desk) == len(versions[1])
    desk.deposits.remove(other.id)
    trash.empty(desk.stores, desk.deposits.settler)
    assert list(desk.stores.garage.objects.stored.keys("sources/")) == []
    assert list(desk.stores.garage.objects.stored.keys(LINKS)) == []


_APPENDED = """
import sys
from pathlib import Path
from tests.support.depositing import open_desk
desk = open_desk(Path(sys.argv[1]))
line = b'{"type": "user", "message": "0123456789abcdef"}\\n'
name = desk.file("log.txt", line * 3000)
desk.settle()
for more in range(1, 4):
    desk.write(name.id, line * (3000 + more))
    desk.settle()
"""


@pytest.mark.peers(EMBEDDED)
@pytest.mark.parametrize("border", ["prefix-linked", "prefix-freed", "prefix-linked:2", "prefix-freed:3"])
def test_a_kill_while_bytes_are_given_up_loses_none(home: Path, border: str) -> None:
    environ = {**os.environ, "KGFS_FAIL_AT": border}
    done = subprocess.run(
        [sys.executable, "-c", _APPENDED, str(home)], env=environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    with desk_at(home) as desk:
        (row,) = desk.catalog.names.children(desk.ontology().root)
        before = kept(desk, row.id)
        assert before == [LINE * (3000 + more) for more in range(len(before))]
        for _ in range(2):
            before.append(before[-1] + LINE)
            desk.write(row.id, before[-1])
            desk.settle()
        assert kept(desk, row.id) == before
        assert taken(desk) == len(before[-1])
