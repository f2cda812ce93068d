"""Knowledge asks: what a concept, a document, a piece of evidence or the whole store says. It never writes.

Called by ``tree`` and ``cli``. Answers come from the stores alone, quickly: no model, no network.
"""
