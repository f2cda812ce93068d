"""What the language model made of a home's documents: requests, claims kept and refused, with reasons [COMPILER 12]."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from kgfs.config import Config
from kgfs.domain.text import gated_for
from kgfs.knowledge.document_location import standing_of
from kgfs.render.words import counted
from kgfs.stores import usage
from kgfs.stores.stores import Stores

LOGGED = 10_000


@dataclass(slots=True)
class Compiled:
    """Counts of a home. They come from the graph and from the file that counts requests, so they survive restarts."""

    requests: dict[str, Any]
    """As :func:`kgfs.stores.usage.read` returns it."""
    roles: Counter[str] = field(default_factory=Counter)
    """Living claims by role."""
    rejected: Counter[str] = field(default_factory=Counter)
    """Claims that validation refused, by reason."""
    sources: int = 0
    gated_in: dict[str, Counter[str]] = field(default_factory=dict)
    """Gated Sources of each ontology (its id), by the kind of their reason."""

    @property
    def gated(self) -> Counter[str]:
        """Return the gated Sources of the home, by the kind of their reason."""
        return sum(self.gated_in.values(), Counter())

    @property
    def claims(self) -> int:
        return self.roles.total()

    @property
    def tokens_a_claim(self) -> float:
        """Return the answer tokens that were paid for each claim; 0 without claims."""
        used = float(self.requests["total"].get("completion_tokens", 0))
        return round(used / self.claims, 1) if self.claims else 0.0

    @property
    def answers(self) -> dict[str, int]:
        """Return how many claims stood on Sources that the model was shown to answer from (``claims_shown``), and on those that it
        cited (``claims_cited``)."""
        found: dict[str, int] = self.requests["answers"]
        return found

    def plain(self) -> dict[str, Any]:
        """Return the counts as plain data."""
        return {
            **self.requests["total"],
            "outcomes": self.requests["outcomes"],
            "claims": dict(sorted(self.roles.items())),
            "rejected": dict(sorted(self.rejected.items())),
            "tokens_a_claim": self.tokens_a_claim,
            **self.answers,
        }


def compiled(config: Config, stores: Stores) -> Compiled:
    """Return the counts of a home. The cost grows with the numbers of its claims and gated Sources."""
    found = Compiled(usage.read(config.home))
    for ontology in stores.catalog.names.ontologies():
        found.roles.update(stores.graph.claims.counts(ontology.id))
        found.rejected.update(stores.graph.claims.reasons(ontology.id))
        found.gated_in[ontology.id] = _gated(stores, ontology.id)
        found.sources += stores.graph.counts(ontology.id)["sources"]
    return found


def _gated(stores: Stores, ontology: str) -> Counter[str]:
    kinds: Counter[str] = Counter()
    for reason, count in stores.graph.gated_reasons(ontology).items():
        kinds[gated_for(reason)] += count
    return kinds


def metrics_text(found: Compiled) -> str:
    """Return the counts as Prometheus text; '' for a home that has no Sources and never asked a language model."""
    total = found.requests["total"]
    if not total and not found.claims and not found.sources:
        return ""
    rows = [
        (
            "kgfs_llm_requests_total",
            "counter",
            "Requests to the language model by outcome.",
            "outcome",
            found.requests["outcomes"],
        ),
        (
            "kgfs_llm_tokens_total",
            "counter",
            "Tokens of prompts and of answers.",
            "kind",
            {"prompt": total.get("prompt_tokens", 0), "answer": total.get("completion_tokens", 0)},
        ),
        ("kgfs_claims", "gauge", "Claims by role.", "role", found.roles),
        (
            "kgfs_claims_answered_total",
            "counter",
            "Claims on Sources that the language model was shown to answer from, and on those that it cited.",
            "use",
            {"shown": found.answers["claims_shown"], "cited": found.answers["claims_cited"]},
        ),
        ("kgfs_sources_gated", "gauge", "Sources that give no knowledge, by reason.", "reason", found.gated),
        ("kgfs_claims_rejected", "gauge", "Claims that validation refused, by reason.", "reason", found.rejected),
    ]
    lines = [
        line
        for name, kind, help_, label, values in rows
        for line in (
            f"# HELP {name} {help_}",
            f"# TYPE {name} {kind}",
            *(f'{name}{{{label}="{value}"}} {count}' for value, count in sorted(values.items())),
        )
    ]
    lines += [
        "# HELP kgfs_llm_cost_total Cost of the requests at the configured prices.",
        "# TYPE kgfs_llm_cost_total counter",
        f"kgfs_llm_cost_total {total.get('cost', 0.0)}",
    ]
    return "\n".join(lines) + "\n"


def page(found: Compiled) -> bytes:
    """Return ``.kgfs/compiler.md``: the counts for people."""
    total = found.requests["total"]
    lines = ["# The language model", ""]
    if not total:
        lines += ["No language model has been asked in this home. Set `[llm] base_url` and `[models] extractor`."]
    else:
        lines += [
            f"{counted(total['requests'], 'request')}, {total['prompt_tokens']:,} prompt tokens, {total['completion_tokens']:,} answer tokens,"
            f" cost {total['cost']:.4g}.",
            "",
            "| outcome | requests |",
            "| --- | --- |",
            *(f"| {name} | {count:,} |" for name, count in sorted(found.requests["outcomes"].items())),
        ]
        days = found.requests["days"]
        lines += ["", "| day (UTC) | requests | tokens | cost |", "| --- | --- | --- | --- |"]
        lines += [
            f"| {day} | {row['requests']:,} | {row['prompt_tokens'] + row['completion_tokens']:,} | {row['cost']:.4g} |"
            for day, row in sorted(days.items(), reverse=True)
        ]
    lines += [
        "",
        "## Claims",
        "",
        f"{counted(found.claims, 'claim')}; {found.tokens_a_claim:g} answer tokens for each.",
    ]
    if shown := found.answers["claims_shown"]:
        cited = found.answers["claims_cited"]
        lines += [
            "",
            f"Answers to questions: the model was shown {counted(shown, 'claim')}, and cited the Sources of {cited:,}.",
        ]
    for title, values in (("role", found.roles), ("refused for", found.rejected)):
        if values:
            lines += ["", f"| {title} | claims |", "| --- | --- |"]
            lines += [
                f"| {name} | {count:,} |" for name, count in sorted(values.items(), key=lambda row: (-row[1], row[0]))
            ]
    lines += [
        "",
        "## The gate",
        "",
        f"{found.gated.total():,} of {counted(found.sources, 'Source')} give no knowledge.",
    ]
    if found.gated:
        lines += ["", "| reason | Sources |", "| --- | --- |"]
        lines += [f"| {kind} | {count:,} |" for kind, count in sorted(found.gated.items(), key=lambda row: -row[1])]
    return ("\n".join(lines) + "\n").encode()


def gate_log(stores: Stores) -> bytes:
    """Return ``.kgfs/gate.ndjson``: the gated Sources of a home with their lines and reasons, LOGGED of each ontology at most."""
    lines = []
    for ontology in stores.catalog.names.ontologies():
        for doc_id, first, last, reason in stores.graph.gated(ontology.id, LOGGED):
            path = f"{ontology.name}/{standing_of(stores.catalog.names, doc_id).origin.path}"
            row = {"document": path, "doc_id": doc_id, "line_start": first, "line_end": last, "reason": reason}
            lines.append(json.dumps(row, ensure_ascii=False) + "\n")
    return "".join(lines).encode("utf-8", "surrogateescape")
