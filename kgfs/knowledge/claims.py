"""What ``claims/`` shows: claims with their evidence and concepts, which claims say the same, and those that were refused.

Which claims say the same is worked out when it is asked, from what the graph shows at that moment.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from kgfs.domain.claims import ALIKE, NEAR, file_name, may_say_the_same, other_figure
from kgfs.domain.forms import places_of
from kgfs.errors import MissingError
from kgfs.knowledge.document_location import DocumentLocation, standing_of
from kgfs.knowledge.evidence import Recall
from kgfs.render.answer_context import AnswerSource
from kgfs.render.claim import ClaimPage, ClaimQuote, ListedClaim, OtherClaim, all_md, claim_md, rejected_ndjson
from kgfs.stores.graph.editions import browse_uri
from kgfs.stores.graph.vocabulary import Claim, ClaimRow, DocumentRow
from kgfs.stores.stores import Stores

SHOWN_OTHERS = 20
"""The most claims that each section of a page refers to."""
OTHER_FIGURE = "other figure"
_FIELDS = (
    *("claim_id", "role", "domain", "actor", "actor_class", "timeframe", "timeframe_class", "time_horizon"),
    *("scope", "authority", "confidence", "added"),
)


def path_in_claims(row: ClaimRow) -> str:
    """Return ``<role>/<name>.md``, the file of a claim below ``claims/``."""
    return f"{row.role}/{file_name(row.claim_id, row.claim)}"


def claim_at(stores: Stores, ontology_id: str, role: str, name: str) -> Claim | None:
    """Return the living claim whose file has this name in the folder of a role; None if there is none. Quick."""
    digits = name.removesuffix(".md").rpartition("~")[2]
    if len(digits) != 8 or not set(digits) <= set("0123456789abcdef"):
        return None
    found = (one for one in stores.graph.claims.beginning(ontology_id, digits) if one.shown.role == role)
    return next((one for one in found if file_name(one.shown.claim_id, one.shown.claim) == name), None)


def claim_page(stores: Stores, ontology_id: str, claim_id: str, recall: Recall) -> tuple[bytes, int]:
    """Return the file of a claim, and when it last changed (nanoseconds). Raise MissingError once the claim is gone."""
    page = _Pages(stores, ontology_id, recall)
    return page.of(claim_id), page.changed_at


def all_claims(stores: Stores, ontology_id: str) -> tuple[bytes, int]:
    """Return ``all.md``, and when it last changed. Reads all claims of the ontology."""
    ontology = stores.catalog.names.ontology(ontology_id)
    if ontology is None:
        raise MissingError("The ontology was removed.")
    claims = stores.graph.claims
    by_role = [(role, _listed(claims.living(ontology_id, role))) for role in claims.counts(ontology_id)]
    content = all_md(ontology.name, by_role, len(claims.rejected(ontology_id)))
    return content, max(ontology.made_at, stores.graph.changed_at(ontology_id))


def _listed(claims: Iterable[Claim]) -> list[ListedClaim]:
    ordered = sorted(claims, key=lambda one: (one.shown.actor.casefold(), one.shown.claim, one.shown.claim_id))
    return [ListedClaim(one.shown.claim, path_in_claims(one.shown), one.evidence) for one in ordered]


def rejected_claims(stores: Stores, ontology_id: str, recall: Recall) -> tuple[bytes, int]:
    """Return ``rejected.ndjson``, and when it last changed. Reads all refused claims of the ontology."""
    page = _Pages(stores, ontology_id, recall)
    rows = stores.graph.claims.rejected(ontology_id)
    return rejected_ndjson(page.rejected(row) for row in rows), page.changed_at


def related_claims(
    stores: Stores, ontology_id: str, row: ClaimRow, concepts: frozenset[str], recall: Recall
) -> tuple[list[Claim], list[tuple[Claim, bool]]]:
    """Return the claims that say the same in other words, and those about the same actor and one of the ``concepts`` in a claim's
    quotes, with whether each of these gives another figure; the closest first."""
    claims = stores.graph.claims
    may_be = claims.naming(ontology_id, row.claim)
    near = _near(row, (one for one in may_be if may_say_the_same(row, one.shown)), ALIKE)
    alike = {one.shown.claim_id for one in near}
    about = recall(("claims about", ontology_id, row.actor), lambda: claims.about(ontology_id, row.actor))
    others = _near(row, (one for one in about if one.shown.claim_id not in alike), NEAR)
    also = [
        (one, other_figure(row, one.shown))
        for one in others
        if not concepts.isdisjoint(concepts_in(stores, ontology_id, one.shown))
    ]
    return near[:SHOWN_OTHERS], also[:SHOWN_OTHERS]


def _near(row: ClaimRow, claims: Iterable[Claim], least: float) -> list[Claim]:
    """Return the other ones of these claims that are at least so close in meaning, the closest first."""
    comparable = [
        one
        for one in claims
        if row.vector and one.shown.claim_id != row.claim_id and one.shown.vector_model == row.vector_model
    ]
    if not comparable:
        return []
    import numpy as np  # which a mount needs for nothing else, as long as no model makes claims

    own, *others = (np.frombuffer(vector, "<f2") for vector in (row.vector, *(one.shown.vector for one in comparable)))
    cosines = (np.array(others, np.float32) @ own.astype(np.float32)).round(6).tolist()
    scored = sorted(zip(cosines, comparable, strict=True), key=lambda at: (-at[0], at[1].shown.claim_id))
    return [one for score, one in scored if score >= least]


def concepts_in(stores: Stores, ontology_id: str, row: ClaimRow) -> frozenset[str]:
    """Return the ids of the concepts that a claim's quote is evidence for, or names."""
    named = places_of(row.quote, [(0, len(row.quote))], lambda keys: stores.graph.named.forms_known(ontology_id, keys))
    return stores.graph.claims.concepts_within(row) | named.keys()


class _Pages:
    """Renders what depends on the places of documents, and notes when these last changed."""

    def __init__(self, stores: Stores, ontology_id: str, recall: Recall) -> None:
        self._stores = stores
        self._ontology_id = ontology_id
        self._recall = recall
        self.changed_at = stores.graph.changed_at(ontology_id)

    def of(self, claim_id: str) -> bytes:
        stores = self._stores
        rows = stores.graph.claims.evidence(claim_id)
        if not rows:
            raise MissingError("The claim is gone.")
        concepts = frozenset[str]().union(*(concepts_in(stores, self._ontology_id, row) for row in rows))
        living = stores.graph.concepts_by_id(concepts).values()
        alike, also = related_claims(stores, self._ontology_id, rows[0], concepts, self._recall)
        return claim_md(
            ClaimPage(
                fields={name: getattr(rows[0], name) for name in _FIELDS} | {"evidence": len(rows)},
                claim=rows[0].claim,
                quotes=tuple(map(self._quote, rows)),
                concepts=tuple(sorted(((one.name, one.label) for one in living), key=lambda one: one[0])),
                alike=tuple(self._other(one, "") for one in alike),
                also=tuple(self._other(one, OTHER_FIGURE if differs else "") for one, differs in also),
            )
        )

    def rejected(self, row: ClaimRow) -> dict[str, object]:
        is_placed = row.chunk_index >= 0
        return {
            "doc_id": row.doc_id,
            "path": self._standing(row.doc_id).origin.path,
            "chunk_id": row.chunk_id or None,
            "line_start": row.line_start if is_placed else None,
            "line_end": row.line_end if is_placed else None,
            "reason": row.rejected,
            "claim": row.claim,
            "quote": row.quote if is_placed else None,
            **{name: getattr(row, name) for name in _FIELDS if name != "claim_id"},
        }

    def _standing(self, doc_id: str) -> DocumentLocation:
        names = self._stores.catalog.names
        found = self._recall(("standing", doc_id), lambda: standing_of(names, doc_id))
        self.changed_at = max(self.changed_at, found.changed_at)
        return found

    def _document(self, doc_id: str) -> DocumentRow:
        found = self._recall(("document", doc_id), lambda: self._stores.graph.document(doc_id))
        if found is None:
            raise MissingError("The document of this claim left the graph.")
        return found

    def _quote(self, row: ClaimRow) -> ClaimQuote:
        document, origin = self._document(row.doc_id), self._standing(row.doc_id).origin
        source = AnswerSource(
            text=row.quote,
            score=0.0,
            chunk_id=row.chunk_id,
            doc_id=row.doc_id,
            source_id=document.source_id,
            source_uri=origin.path,
            source_title=document.source_title,
            section_path=row.section_path,
            page=row.page,
            lines=(row.line_start, row.line_end),
            archive_uri=browse_uri(document),
            download_uri=None,
            locator=json.loads(row.locator) if row.locator else {},
        )
        return ClaimQuote(row.quote, origin.path, origin.note, source, (row.line_start, row.line_end))

    def _other(self, one: Claim, note: str) -> OtherClaim:
        row = one.shown
        path = self._standing(row.doc_id).origin.path
        return OtherClaim(row.claim, path_in_claims(row), path, (row.line_start, row.line_end), note)
