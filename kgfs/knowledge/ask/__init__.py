"""Answer a question from the Sources: the sentences that answer it, as exact quotes with citations.

``asking`` is the way of a question, in order: search, gather what may answer, have the worker's models compare it, score,
and choose or refuse. ``page`` shows an answer with the present places of its documents. ``saved`` keeps the answers of
saved questions. Everything but the stores and the worker's models is pure.
"""
