"""Define the domain's types, and identity by pure functions. Nothing here does I/O or keeps state.

``documents``: stored content, its names and versions, and the state of each Document. ``text``: the Text of a
document's bytes, and how it is cut into Sources. ``knowledge``: concepts and relationships found in a Text.
``identity``: the ids of all of these. ``names``: which names files may have, and how names are encoded.
"""
