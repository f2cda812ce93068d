"""The half of a replica's making that this machine does, without a server: rows as ``Origin`` would tell them, made as they
are asked for, so that memory and time of a million concepts can be seen where no server holds so many."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from kgfs.stores.graph.replica.standing import Standing

ONTOLOGY = "0123456789ab"
TO_A_DOCUMENT, TO_A_SOURCE, QUOTES = 1000, 10, 3
STANDING = Standing("generated", 0, 0, 1, "", 1, 0, 0, 0, -1)

Row = Sequence[Any]


class Generated:
    """Every second id is a relationship's, between the concepts before it and after it."""

    def __init__(self, concepts: int) -> None:
        self.standing_now = STANDING
        self._concepts = concepts

    def standing(self) -> Standing:
        return STANDING

    def look(self, work: Callable[[Any], Any], *, alone: bool = False) -> Any:
        return work(Rows(self._concepts))

    def close(self) -> None:
        pass


class Rows:
    standing = STANDING

    def __init__(self, concepts: int) -> None:
        self._concepts = concepts
        self._documents = -(-concepts // TO_A_DOCUMENT)

    def owners_after(self, after: str, limit: int) -> Iterator[Row]:
        first = int(after, 16) + 1 if after else 0
        for at in range(first, min(first + limit, self._concepts + self._concepts // 2)):
            number, kind = divmod(at, 3)
            yield self._relationship(at, number) if kind == 2 else self._concept(at, 2 * number + kind)

    def _concept(self, at: int, number: int) -> Row:
        label = f"concept number {number}"
        return (_id(at), ONTOLOGY, label.replace(" ", "-"), True, label, label, [], "", "term", 1, QUOTES, 1, 500, 1, "00",
                QUOTES, [(label, 0)], None, None, None, 0.0)  # fmt: skip

    def _relationship(self, at: int, number: int) -> Row:
        return (_id(at), ONTOLOGY, None, False, None, None, None, None, None, None, 1, None, None, 1, None, 1, [],
                _id(3 * number), "USES", _id(3 * number + 1), 0.5)  # fmt: skip

    def documents_after(self, after: str, limit: int) -> Iterator[Row]:
        first = int(after, 16) + 1 if after else 0
        for number in range(first, min(first + limit, self._documents)):
            doc_id = _id(number)
            yield (doc_id, TO_A_DOCUMENT // TO_A_SOURCE, TO_A_DOCUMENT * QUOTES, doc_id, ONTOLOGY, doc_id, doc_id * 4, doc_id,
                   doc_id, 1, TO_A_DOCUMENT // TO_A_SOURCE, 1, number, doc_id, doc_id, "text/plain", "f" * 64, 1, "r", 1, 1,
                   "done", 0)  # fmt: skip

    def sources(self, editions: Sequence[str]) -> Iterator[Row]:
        for edition in editions:
            first = int(edition, 16) * TO_A_DOCUMENT
            for index in range(TO_A_DOCUMENT // TO_A_SOURCE):
                text = " ".join(f"concept number {first + index * TO_A_SOURCE + n}" for n in range(TO_A_SOURCE))
                yield (edition, index, f"{edition[4:]}{index:x}", text, 0, 9, 1, 1, 0, 9, [], "bench", 0, 9, "", None, None,
                       "", "")  # fmt: skip

    def instances(self, editions: Sequence[str]) -> Iterator[Row]:
        for edition in editions:
            first = int(edition, 16) * TO_A_DOCUMENT
            for number in range(first, first + TO_A_DOCUMENT):
                for quote in range(QUOTES):
                    yield (edition, f"{number:x}-{quote}", _concept_id(number), "concept", quote + 1,
                           (number - first) // TO_A_SOURCE, "c", f"concept number {number}", 0, 4, 0, 4, 1, 1, [], None, False,
                           0.5, 100, 0, 1)  # fmt: skip

    def mentions(self, editions: Sequence[str]) -> Iterator[Row]:
        for edition in editions:
            first = int(edition, 16) * TO_A_DOCUMENT
            for number in range(first, first + TO_A_DOCUMENT):
                label = f"concept number {number}"
                yield edition, _concept_id(number), 0, first, label, [label], "term", 0.5, ""

    def counts(self) -> Iterator[Row]:
        yield (ONTOLOGY, self._documents, self._concepts // TO_A_SOURCE, self._concepts, self._concepts // 2,
               self._concepts * QUOTES, 1)  # fmt: skip

    def marks(self) -> Iterator[Row]:
        return iter(())

    def changes(self, after: int, up_to: int) -> Iterator[Row]:
        return iter(())


def _id(number: int) -> str:
    return f"{number:016x}"


def _concept_id(number: int) -> str:
    pair, which = divmod(number, 2)
    return _id(3 * pair + which)
