"""Keep the recognised pages of a scanned document in the garage, so that no page is recognised twice."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

from kgfs.failpoints import border
from kgfs.stores.garage.contract import Objects
from kgfs.stores.readings import pages_prefix

RECOGNITION = "pages recognised"
"""The end of the stage that is reported while pages are recognised."""


class KeptPages:
    """The recognised pages of one document, one object each. ``formats.contract.Pages`` says what it promises.

    ``report`` is called with how far it is, in words, and the share that is done; what it raises ends the parsing.
    """

    def __init__(self, objects: Objects, doc_id: str, report: Callable[[str, float], None]) -> None:
        self._objects, self._prefix, self._report = objects, pages_prefix(doc_id), report
        self._pages: dict[int, str] | None = None

    def known(self) -> Mapping[int, str]:
        """Return the texts of the pages that were recognised before."""
        if self._pages is None:
            bodies = [json.loads(self._objects.get(key)) for key, _ in self._objects.keys(self._prefix)]
            self._pages = {body["page"]: body["text"] for body in bodies}
        return self._pages

    def keep(self, page: int, text: str, scans: int) -> None:
        """Keep the text of a page, and report how many of ``scans`` pages are recognised."""
        self._objects.put(f"{self._prefix}{page}.json", json.dumps({"page": page, "text": text}).encode())
        border("page-recognised")
        pages = {**self.known(), page: text}
        self._pages = pages
        self._report(f"{len(pages)} of {scans} {RECOGNITION}", len(pages) / scans)
