"""How the in-memory graph joins what it shows with what was built aside."""

from __future__ import annotations

from tests.fakes.graph.view import View


def joined(mine: View, built: View, ontology: str) -> View:
    """All that ``built`` shows of an ontology, with all that ``mine`` shows of the others."""
    view = View()
    for source, ours in ((mine, False), (built, True)):
        of = {doc_id: edition.told.document.ontology for doc_id, edition in source.editions.items()}
        view.editions |= {k: v for k, v in source.editions.items() if (of[k] == ontology) is ours}
        view.instances |= {k: v for k, v in source.instances.items() if (of[v.doc_id] == ontology) is ours}
        concepts = {k for k, v in source.concepts.items() if (v.ontology == ontology) is ours}
        view.concepts |= {k: source.concepts[k] for k in concepts}
        view.pages |= {k: v for k, v in source.pages.items() if k in concepts}
        view.mentions |= {k: v for k, v in source.mentions.items() if k in concepts}
        view.relationships |= {k: v for k, v in source.relationships.items() if (v[0].ontology == ontology) is ours}
    return view
