"""The renderers: pure functions from domain objects to the bytes of source.txt, citation.json, concept.md, about.md,
text/*.md.

``stores`` and ``ingest`` call them to know sizes before a file is read, ``tree`` to answer reads. No I/O, no state,
no clock: the same input gives the same bytes.
"""
