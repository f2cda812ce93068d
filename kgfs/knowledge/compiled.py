"""What the language model made of a home's documents: requests, claims kept and refused, with reasons [COMPILER 12]."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from kgfs.config import Config
from kgfs.render.words import counted
from kgfs.stores import usage
from kgfs.stores.stores import Stores


@dataclass(slots=True)
class Compiled:
    """Counts of a home. They come from the graph and from the file that counts requests, so they survive restarts."""

    requests: dict[str, Any]
    """As :func:`kgfs.stores.usage.read` returns it."""
    roles: Counter[str] = field(default_factory=Counter)
    """Living claims by role."""
    rejected: Counter[str] = field(default_factory=Counter)
    """Claims that validation refused, by reason."""

    @property
    def claims(self) -> int:
        return self.roles.total()

    @property
    def tokens_a_claim(self) -> float:
        """Return the answer tokens that were paid for each claim; 0 without claims."""
        used = float(self.requests["total"].get("completion_tokens", 0))
        return round(used / self.claims, 1) if self.claims else 0.0

    def plain(self) -> dict[str, Any]:
        """Return the counts as plain data."""
        return {
            **self.requests["total"],
            "outcomes": self.requests["outcomes"],
            "claims": dict(sorted(self.roles.items())),
            "rejected": dict(sorted(self.rejected.items())),
            "tokens_a_claim": self.tokens_a_claim,
        }


def compiled(config: Config, stores: Stores) -> Compiled:
    """Return the counts of a home. The cost grows with the number of its claims."""
    found = Compiled(usage.read(config.home))
    for ontology in stores.catalog.names.ontologies():
        found.roles.update(stores.graph.claims.counts(ontology.id))
        found.rejected.update(stores.graph.claims.reasons(ontology.id))
    return found


def metrics_text(found: Compiled) -> str:
    """Return the counts as Prometheus text; '' for a home that never asked a language model."""
    total = found.requests["total"]
    if not total and not found.claims:
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
    for title, values in (("role", found.roles), ("refused for", found.rejected)):
        if values:
            lines += ["", f"| {title} | claims |", "| --- | --- |"]
            lines += [
                f"| {name} | {count:,} |" for name, count in sorted(values.items(), key=lambda row: (-row[1], row[0]))
            ]
    return ("\n".join(lines) + "\n").encode()
