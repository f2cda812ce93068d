"""The words of the project as types, and the pure functions that define identity. Nothing here does I/O or keeps state.

``documents``: what is kept, under which names and versions, and where each Document stands. ``text``: what a document's
bytes say, and how that is cut. ``knowledge``: what is found in it. ``identity``: the ids of all of these. ``names``: which
names files may have, and how they are held.
"""
