"""The interfaces of what runs the models, and of an engine that reads documents in parallel.

The default engine is this process; a cluster is used where one is configured. A *place* holds what reading needs: models,
loaded once, and the objects of the garage. Work is sent to a place and stores its results in the garage, so that a
lost place loses nothing that was stored.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from kgfs.models.contract import Extraction, Passage, Tokens
from kgfs.stores.garage.contract import Objects

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

Progress = Callable[[str, float], None]
"""(stage, share of the document done, 0 to 1). Called between batches. Raises LostLeaseError when this worker no
longer holds the job's lease."""


class Compute(Protocol):
    """The models behind calls that take and return plain data, in batches.

    Any number of threads may call. A call blocks for as long as the models need. Results depend on the arguments
    alone.
    """

    @property
    def tokens(self) -> Tokens: ...

    @property
    def extractor(self) -> str:
        """Return the name and version of the extractor, as ``name/version``."""
        ...

    @property
    def extractor_model(self) -> str: ...

    @property
    def prompt_hash(self) -> str: ...

    @property
    def billed(self) -> bool:
        """Tell whether the extractor's answers come from a language model, which the worker asks before reading."""
        ...

    @property
    def takes_known(self) -> bool:
        """Tell whether the extractor reads the ``known`` concepts that it is given."""
        ...

    @property
    def embedding_model(self) -> str:
        """Return the name and hash of the embedding model.

        It is empty where no embedder is available; then ``embed`` must not be called.
        """
        ...

    @property
    def verbs(self) -> Callable[[str], bool] | None:
        """Return a function that tells whether a block of text contains a verb. None where no grammar is loaded."""
        ...

    def extract(self, passages: Sequence[Passage], known: Sequence[str]) -> list[str]:
        """Return the raw output for each passage, in the order of the passages."""
        ...

    def parse(self, raw: str) -> Extraction:
        """Parse a raw output. Raise BadInputError for an output that does not have the expected form."""
        ...

    def embed(self, texts: Sequence[str]) -> list[npt.NDArray[np.float32]]:
        """Return an array of shape (windows, dimensions) for each text, with rows of length 1."""
        ...

    def using(self, extractor: str) -> Compute:
        """Return the same engine with another extractor, which shares the loaded models with this one.

        ``extractor`` is a value that ``[models] extractor`` may have. Raises BadInputError for an unknown extractor
        and ModelMissingError where its model is not installed.
        """
        ...

    def notes(self) -> Sequence[str]:
        """Return messages for people: which models were found, which are missing, and what the absence means."""
        ...


@dataclass(frozen=True, slots=True)
class WorkerSlot:
    compute: Compute
    objects: Objects


class Work(Protocol[T_co]):
    """A callable that is sent to a place with plain data.

    It is idempotent: running it again, wholly or in part, gives the same result and stores it once.
    """

    def __call__(self, place: WorkerSlot, progress: Progress) -> T_co: ...


class Engine(Protocol):
    """Runs works at its places. Any number of threads may call."""

    @property
    def width(self) -> int:
        """Return the number of works that run at the same time. More works only wait."""
        ...

    @property
    def held(self) -> int:
        """Return the number of documents worth holding at the same time.

        It is more than the number that run: all documents are published in order, so one document that takes long
        would otherwise keep others from being started.
        """
        ...

    @property
    def has_express(self) -> bool:
        """Return whether a small document would be read at once though as many documents are held as are worth it."""
        ...

    def widen(self, documents: int, size: int) -> None:
        """Take note that so many documents, of so many bytes together, are to be read. Quick."""
        ...

    @property
    def notice(self) -> str:
        """Return why works do not run where they are configured to, in sentences for people. Empty while they do."""
        ...

    def run(self, work: Work[T], progress: Progress) -> T:
        """Run a work at one of the places and return its result. Blocks until the work is done.

        Raises what the work raises, and what ``progress`` raises, which ends the work. A work whose place is lost
        runs again at another place. Raises UnavailableError where a place cannot read, and MachineError where every place
        is lost in turn, because then the work itself may end them.
        """
        ...

    def close(self) -> None: ...


class LocalEngine:
    """An Engine with one place, in this process.

    Two works run at the same time, so that one document is parsed while another waits for the embedder.
    """

    width = 2
    held = 2
    has_express = False
    notice = ""

    def __init__(self, compute: Compute, objects: Objects) -> None:
        self._place = WorkerSlot(compute, objects)

    def run(self, work: Work[T], progress: Progress) -> T:
        return work(self._place, progress)

    def widen(self, documents: int, size: int) -> None:
        return

    def close(self) -> None:
        return
