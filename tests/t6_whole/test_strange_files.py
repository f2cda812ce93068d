"""Files and folders of the kind that make programs stumble, put into a real mount with ordinary tools."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from tests.support.running import Place, shell, until
from tests.support.texts import GARBAGE, ZEN

pytestmark = pytest.mark.mounted

MIB = 1 << 20


def xattr(path: str | bytes | Path, name: str) -> str:
    return os.getxattr(path, f"user.kgfs.{name}").decode()


def read(folder: Path, name: bytes) -> bytes:
    with open(os.path.join(os.fsencode(folder), name), "rb") as file:
        return file.read()


# ------------------------------------------------------------------------------------------- names


@pytest.mark.parametrize(
    ("ontology", "name"),
    [
        ("Newline", b"first\nsecond.md"),
        ("Long", b"n" * 252 + b".md"),
        ("LongUtf8", "ä".encode() * 126 + b".md"),
        ("Invalid", b"caf\xe9-\xff.md"),
        ("Percent", b"100%25 \\ 'quoted' $HOME `x`.md"),
        ("Blank", b" -rf .md"),
    ],
)
def test_a_name_comes_back_everywhere(shared: Place, ontology: str, name: bytes) -> None:
    root = shared.ontology(ontology)
    documents = root / "documents"
    with open(os.path.join(os.fsencode(documents), name), "wb") as file:
        file.write(ZEN.encode())
    shared.wait()
    assert os.listdir(os.fsencode(documents)) == [name]
    assert read(documents, name) == ZEN.encode()
    path = os.path.join(os.fsencode(documents), name)
    assert xattr(path, "state") == "done"

    texts = os.listdir(os.fsencode(root / "text"))
    assert len(texts) == 1
    assert b"Zen is a school of Buddhism" in read(root / "text", texts[0])
    assert len(texts[0]) <= 255

    archived = root / "archive" / xattr(path, "doc_id")
    assert (archived / "original").read_bytes() == ZEN.encode()
    assert (archived / "text.txt").read_bytes() == ZEN.encode()
    json.loads((archived / "metadata.json").read_text())

    evidence = root / "concepts/zen.concept/evidence/1"
    link = os.path.join(os.fsencode(evidence), b"document")
    assert os.path.realpath(link) == os.path.realpath(path)
    with open(link, "rb") as file:
        assert file.read() == ZEN.encode()
    citation = json.loads((evidence / "citation.json").read_text())
    shown = (evidence / "source.txt").read_text()
    spans = citation.get("source_spans") or [[citation["source_start"], citation["source_end"]]]
    assert "".join(shown[start:end] for start, end in spans) == citation["quote"]

    os.unlink(path)
    assert os.listdir(documents) == []


# ---------------------------------------------------------------------------------------- contents


def test_an_empty_file_is_a_name_and_no_document(shared: Place) -> None:
    root = shared.ontology("Empty")
    (root / "documents/nothing.txt").touch()
    shared.wait()
    assert (root / "documents/nothing.txt").stat().st_size == 0
    assert os.listxattr(root / "documents/nothing.txt") == []
    assert os.listdir(root / "archive") == []
    assert os.listdir(root / "versions") == []
    assert os.listdir(root / "text") == []


def test_a_file_written_for_a_while_becomes_one_version(shared: Place) -> None:
    root = shared.ontology("Growing")
    path = root / "documents/log.txt"
    with open(path, "w") as file:
        for n in range(12):
            file.write(f"Line {n} says that a garbage collector is a program that reclaims memory.\n")
            file.flush()
            os.fsync(file.fileno())
            duplicate = os.dup(file.fileno())  # each close is a flush of its own
            os.close(duplicate)
            time.sleep(0.12)
            assert path.stat().st_size == file.tell()
    assert not list((root / "versions").iterdir()), "while it was written there was none"
    shared.wait()
    kept = path.read_text()
    assert kept.count("\n") == 12
    about = json.loads((root / "archive" / xattr(path, "doc_id") / "metadata.json").read_text())
    assert len(os.listdir(root / "archive")) == 1
    assert about["size"] == len(kept)
    versions = [name for _, _, names in os.walk(root / "versions") for name in names]
    assert len(versions) <= 1, versions


@pytest.mark.slow
def test_200_megabytes_in_one_line(place: Place) -> None:
    """Deposited with flat memory, listed, byte-identical, and given up without waiting for its extraction."""
    place.mount()
    (mount,) = [pid for pid in place.pids() if b"mount" in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")]
    root = place.ontology("Big")
    words = (b"A tracing garbage collector is a program that reclaims the memory of unreachable objects. " * 12000)[
        :MIB
    ]
    before = peak(mount)
    path = root / "documents/big.txt"
    with open(path, "wb") as file:
        for _ in range(200):
            file.write(words)
    assert peak(mount) - before < 64 * MIB
    assert path.stat().st_size == 200 * MIB
    until(lambda: xattr(path, "state") in ("queued", "working"))
    with open(path, "rb") as file:
        for _ in range(200):
            assert file.read(MIB) == words
        assert file.read(1) == b""
    assert peak(mount) - before < 64 * MIB
    until(lambda: place.status()["worker"]["note"].get("pid"))
    time.sleep(3)  # for the worker to begin with it
    worker = peak(place.status()["worker"]["note"]["pid"])
    assert worker < 2000 * MIB, "models, bytes, text and offsets; 920 were measured"
    path.unlink()
    until(lambda: place.status()["owed"] == 0)
    assert place.status()["worker"]["alive"]
    (root / "documents/after.md").write_text(ZEN)
    place.wait()
    assert "zen.concept" in os.listdir(root / "concepts")


def peak(pid: int) -> int:
    """The most memory that a process had, in bytes."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise AssertionError(f"no VmHWM of {pid}")


# ----------------------------------------------------------------------------------------- folders


@pytest.mark.parametrize("how", ["rm -rf", "rm -rf before reading"])
def test_rm_rf_of_an_ontology(shared: Place, how: str) -> None:
    root = shared.ontology("Doomed")
    (root / "documents/sub").mkdir()
    (root / "documents/zen.md").write_text(ZEN)
    (root / "documents/sub/garbage.txt").write_text(GARBAGE)
    (root / "documents/sub/empty").touch()
    (root / "documents/link").symlink_to("zen.md")
    if how != "rm -rf before reading":
        shared.wait()
        assert "zen.concept" in os.listdir(root / "concepts")
        shell("ls", "-lR", root)  # the kernel knows every entry now
        os.listdir(root / "concepts/zen.concept/evidence/1")
    done = shell("rm", "-rf", root)
    assert (done.returncode, done.stderr) == (0, b"")
    assert not root.exists()
    assert "Doomed" not in os.listdir(shared.mountpoint)
    shared.wait()
    status = shared.status()
    assert [found for found in status["ontologies"] if found["name"] == "Doomed"] == []
    assert status["owed"] == 0
    originals = [path for path in (shared.home / "garage").rglob("*") if path.is_file()]
    assert any(path.read_bytes() == ZEN.encode() for path in originals), "the trash keeps the bytes"

    again = shared.ontology("Doomed")
    assert os.listdir(again / "documents") == []
    assert os.listdir(again / "concepts") == []
    again.rmdir()


def test_a_removed_documents_folder_comes_back(shared: Place) -> None:
    root = shared.ontology("Back")
    (root / "documents/zen.md").write_text(ZEN)
    shared.wait()
    assert shell("rm", "-rf", root / "documents").returncode == 0
    assert os.listdir(root) == []
    assert not (root / "documents").exists()
    (root / "documents").mkdir()
    assert os.listdir(root / "documents") == []
    assert "concepts" in os.listdir(root)
    (root / "documents").rmdir()
    (root / "zen.md").write_text(ZEN)
    assert os.listdir(root / "documents") == ["zen.md"], "any file that comes brings it back"
    shared.wait()
    assert "zen.concept" in os.listdir(root / "concepts")
    assert shell("rm", "-f", root / "about.md").returncode == 1
