"""A language model on this machine: llama.cpp's server in a child process, on a loopback port.

The child ends when its standard input closes, so it does not outlive a killed worker. It is a process of its own because a
model takes gigabytes, and because a crash of the runtime must not take the worker along.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from kgfs.errors import ModelMissingError, UnavailableError

if TYPE_CHECKING:
    from kgfs.settings import Llm

LOADING = 300.0
"""Seconds that a model has to load."""


class LocalServer:
    """The child process with the model. Any thread may call."""

    def __init__(self, model: Path, settings: Llm) -> None:
        """Start the process. Raise ModelMissingError where the file or the runtime is missing."""
        if not model.is_file():
            raise ModelMissingError(f"llm.base_url: there is no model {model}.")
        from importlib.util import find_spec

        if find_spec("xllamacpp") is None:
            raise ModelMissingError("xllamacpp is not installed. Get it with: pip install 'kgfs[local-llm]'")
        self._model = model
        numbers = (str(settings.context_tokens), str(settings.concurrency))
        self._call = [sys.executable, "-m", "kgfs.models.local_llm", str(model), *numbers]
        self._changing = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self._address = ""

    def url(self) -> str:
        """Return the address of the server, which is started where it does not run. Raise UnavailableError if it cannot be."""
        with self._changing:
            if self._process is None or self._process.poll() is not None:
                self._start()
            return f"{self._address}/v1"

    def _start(self) -> None:
        process = subprocess.Popen(
            self._call, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        timer = threading.Timer(LOADING, process.kill)
        timer.start()
        try:
            assert process.stdout is not None
            for line in process.stdout:
                if line.startswith("http://"):
                    self._address, self._process = line.strip(), process
                    threading.Thread(target=process.stdout.read, daemon=True).start()
                    return
        finally:
            timer.cancel()
        with process:
            process.kill()
        raise UnavailableError(f"{self._model} could not be loaded (llm.base_url). Is it a whole GGUF file?")

    def close(self) -> None:
        """End the process."""
        with self._changing:
            if self._process is not None:
                with self._process:
                    self._process.kill()
                self._process = None


def _serve(model: str, context_tokens: int, slots: int) -> None:
    """Serve a model until the standard input closes. Prints the address as one line."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = model
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_parallel = slots
    params.n_ctx = context_tokens * slots
    params.warmup = False
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    _serve(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
