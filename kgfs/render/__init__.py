"""Render: pure functions from domain objects to the bytes of source.txt, citation.json, concept.md, about.md, text/*.md.

Called by ``stores`` and ``ingest`` to know sizes before anyone reads, by ``tree`` to answer reads. No I/O, no state, no
clock: the same input gives the same bytes.
"""
