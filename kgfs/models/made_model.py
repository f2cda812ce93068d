"""The quantised model in the user's cache: made once a machine, and made again when its source or the runtime changes.

``python -m kgfs.models.made_model`` makes it, which takes seconds and needs the package ``onnx``. Reading it needs
neither ``onnx`` nor the weights.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
from importlib import metadata, util
from pathlib import Path

import platformdirs

from kgfs.errors import ModelMissingError
from kgfs.models import carriers, quantised

NAME = f"all-MiniLM-L6-v2-dynamic-int8.{quantised.RECIPE}@{carriers.MINILM_WEIGHTS.sha256[:12]}"
"""The name of the model, as Readings and vector rows record it."""
REMEDY = "pip install onnx && python -m kgfs.models.made_model"
LONGEST = 300.0
"""Seconds that making the model may take."""


def path_of_made() -> Path:
    """Return the path of the quantised model, which is made if it is missing, altered or outdated.

    Raises ModelMissingError where it has to be made and cannot be: without ``onnx``, without the weights, or in a
    cache that cannot be written.
    """
    if is_made():
        return _file()
    if util.find_spec("onnx") is None:
        raise ModelMissingError(f"The quantised embedding model is not made. Make it with: {REMEDY}")
    carriers.path_of(carriers.MINILM_WEIGHTS)
    # A process of its own gives the memory back, about 400 MB.
    made = subprocess.run(
        [sys.executable, "-m", __name__], capture_output=True, text=True, timeout=LONGEST, check=False
    )
    if made.returncode or not is_made():
        reason = (made.stderr.strip().splitlines() or ["it ended without a word"])[-1]
        raise ModelMissingError(f"The quantised embedding model could not be made: {reason}")
    return _file()


def is_made() -> bool:
    """Return whether the quantised model is there, intact, and made from the present source for the present runtime."""
    try:
        note = json.loads(_note().read_bytes())
        return bool(note == _noted(_file().read_bytes()))
    except (OSError, ValueError, metadata.PackageNotFoundError):
        return False


def make() -> None:
    """Make the quantised model and store it in the user's cache. Raises ModelMissingError without the weights."""
    content = quantised.build(quantised.read_safetensors(carriers.path_of(carriers.MINILM_WEIGHTS)))
    _write(_file(), content)
    _write(_note(), json.dumps(_noted(content), indent=2).encode())


def _noted(content: bytes) -> dict[str, str]:
    return {
        "model": NAME,
        "sha256": hashlib.sha256(content).hexdigest(),
        "source": carriers.MINILM_WEIGHTS.sha256,
        "onnxruntime": metadata.version("onnxruntime"),
    }


def _file() -> Path:
    return platformdirs.user_cache_path("kgfs") / "models" / f"{NAME}.onnx"


def _note() -> Path:
    return _file().with_suffix(".json")


def _write(path: Path, content: bytes) -> None:
    """Replace a file by one with this content, wholly or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".making-", delete=False) as file:
        try:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
            Path(file.name).replace(path)
        except BaseException:
            Path(file.name).unlink(missing_ok=True)
            raise


if __name__ == "__main__":
    if not is_made():
        make()
