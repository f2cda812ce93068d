"""Documents of which a large language model wrote down what they say (``tests/data/llm``)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from kgfs.domain.dates import own_day
from kgfs.domain.invented import Grounds
from kgfs.models.extractor.background import is_written_small
from tests.support.model_server import DATA


@dataclass(frozen=True)
class Annotated:
    text: str
    said: dict[str, Any]
    is_pep: bool

    def grounds(self, *, whole_ontology: bool = False) -> Grounds:
        """Return the document's grounds with its own labels, or with those of all documents of its kind."""
        beside = [one for one in annotated() if whole_ontology and one.is_pep == self.is_pep]
        concepts = [concept for one in (self, *beside) for concept in one.said["concepts"]]
        labels = [name for concept in concepts for name in (concept["label"], *concept["aliases"])]
        name, domains, day = self.said["document"], self.said["domains"], own_day(self.text)
        return Grounds(self.text, name, labels=labels, domains=domains, date=day, common=is_written_small)


@cache
def annotated() -> Sequence[Annotated]:
    found = [json.loads(path.read_text()) for path in sorted((DATA / "annotations").glob("*.json"))]
    paths = [next(DATA.glob(f"*s/{said['document']}")) for said in found]
    return [Annotated(path.read_text(), said, path.suffix == ".rst") for path, said in zip(paths, found, strict=True)]
