"""The quantised model: how near it is to the float32 one, when it is made, and what happens where it cannot be."""

from __future__ import annotations

from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from kgfs.errors import ModelMissingError
from kgfs.models import made_model
from kgfs.models.embedder import FP32, MiniLM
from kgfs.models.selection import select
from kgfs.settings import Models

pytestmark = pytest.mark.models
PEP = (Path(__file__).parent.parent / "data" / "pep-3156.rst").read_text()
STATISTICS = Models(extractor="statistics", threads=1)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of a user whose cache is empty."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "kgfs" / "models"


@pytest.fixture
def without_onnx(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "kgfs.models.made_model.util.find_spec", lambda name: None if name == "onnx" else find_spec(name)
    )


def test_its_vectors_are_near_those_of_the_float32_model() -> None:
    texts = [PEP[at : at + 1000] for at in range(0, 30_000, 1000)] + ["coroutine", "event loop"]
    exact, quick = MiniLM(threads=1), MiniLM(threads=1, quantised=True)
    cosines = [float((a * b).sum(axis=1).min()) for a, b in zip(exact.embed(texts), quick.embed(texts), strict=True)]
    assert np.mean(cosines) >= 0.995
    assert min(cosines) >= 0.985
    assert quick.model == made_model.NAME
    assert quick.model != exact.model == FP32


def test_it_is_made_at_first_use_and_not_again(cache: Path) -> None:
    assert not made_model.is_made()
    made = made_model.path_of_made()
    at, content = made.stat().st_mtime_ns, made.read_bytes()
    assert made_model.path_of_made().stat().st_mtime_ns == at
    assert sorted(path.suffix for path in cache.iterdir()) == [".json", ".onnx"]
    made.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    assert made_model.path_of_made().read_bytes() == content, "an altered model is made again, the same bytes"


@pytest.mark.parametrize("differs", ["onnxruntime", "source"])
def test_it_is_made_again_for_another_runtime_or_source(
    cache: Path, monkeypatch: pytest.MonkeyPatch, differs: str
) -> None:
    made_model.make()
    assert made_model.is_made()
    if differs == "onnxruntime":
        monkeypatch.setattr("kgfs.models.made_model.metadata.version", lambda _: "99.0")
        assert metadata.version("onnxruntime") == "99.0"
    else:
        note = next(cache.glob("*.json"))
        note.write_text(note.read_text().replace('"source": "53aa', '"source": "0000'))
    assert not made_model.is_made()


def test_without_onnx_the_float32_model_is_used_and_people_are_told(cache: Path, without_onnx: None) -> None:
    with pytest.raises(ModelMissingError, match="pip install onnx"):
        MiniLM(threads=1, quantised=True)
    chosen = select(STATISTICS)
    assert chosen.embedder is not None
    assert chosen.embedder.model == FP32
    assert any("pip install onnx" in note for note in chosen.notes)


def test_without_onnx_a_made_model_is_used(cache: Path, monkeypatch: pytest.MonkeyPatch, without_onnx: None) -> None:
    made_model.make()
    assert MiniLM(threads=1, quantised=True).model == made_model.NAME


def test_auto_keeps_the_model_that_the_home_has_vectors_of() -> None:
    new, old = select(STATISTICS), select(STATISTICS, in_use=FP32)
    assert new.embedder is not None
    assert old.embedder is not None
    assert (new.embedder.model, old.embedder.model) == (made_model.NAME, FP32)
    assert select(Models(extractor="statistics", embedder="minilm-int8"), in_use=FP32).embedder.model == made_model.NAME  # type: ignore[union-attr]
