"""What a verb loads before it does anything: everybody waits for it each time."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

CLIENTS = ("minio", "neo4j", "qdrant_client", "ray", "onnxruntime", "spacy", "tiktoken", "numpy", "pyfuse3")


def test_a_home_on_this_machine_is_opened_without_clients_and_models() -> None:
    asked = f"import kgfs.app.home, sys; print([name for name in {CLIENTS} if name in sys.modules])"
    told = subprocess.run([sys.executable, "-c", asked], cwd=Path(__file__).parents[2], capture_output=True, text=True)
    assert (told.returncode, told.stdout.strip(), told.stderr) == (0, "[]", "")
