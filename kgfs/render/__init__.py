"""Render domain objects to the bytes of derived files, by pure functions.

The files are source.txt, citation.json, concept.md, about.md and text/*.md, among others. ``stores`` and ``ingest``
call the renderers to know sizes before a file is read, ``tree`` to answer reads. No I/O, no state, no clock: the same
input gives the same bytes.
"""
