"""Documents of which a large language model wrote down what they say (``tests/data/llm``)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from kgfs.domain.dates import own_day
from kgfs.domain.invented import Common, Grounds
from tests.support.model_server import DATA


@dataclass(frozen=True)
class Annotated:
    name: str
    text: str
    said: dict[str, Any]

    @property
    def is_pep(self) -> bool:
        return self.name.startswith("pep-")

    @property
    def labels(self) -> list[str]:
        return [name for one in self.said["concepts"] for name in (one["label"], *one["aliases"])]

    def grounds(self, *, common: Common, whole_ontology: bool = False) -> Grounds:
        """Return the document's grounds, with its own labels or with those of all documents of its kind."""
        beside = [one for one in annotated() if one.is_pep == self.is_pep] if whole_ontology else [self]
        return Grounds(
            self.text,
            self.said["document"],
            labels=[label for one in beside for label in one.labels],
            domains=self.said["domains"],
            date=own_day(self.text),
            common=common,
        )


@cache
def annotated() -> Sequence[Annotated]:
    """Return all annotated documents."""
    found = []
    for path in sorted((DATA / "annotations").glob("*.json")):
        said = json.loads(path.read_text())
        folder = "peps" if path.stem.startswith("pep-") else "documents"
        found.append(Annotated(path.stem, (DATA / folder / said["document"]).read_text(), said))
    return found
