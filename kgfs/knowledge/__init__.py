"""Tell what the stores know about a concept, a document, a piece of evidence or the whole home.

Nothing is written. Called by ``tree`` and ``cli``. Answers come from the stores and are quick: no model and no
network is used, except where a function says otherwise.
"""
