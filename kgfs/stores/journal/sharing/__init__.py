"""Several homes on one ledger.

The ledger's entries are the one order of all facts. A home's front is the fold of those it knows, its *confirmed* facts, and
of its own that are not delivered yet, its *tail*. Where the ledger turns out to go on with facts of others, the tail is taken
back (:mod:`.undo`), theirs are folded, and the tail is carried over (:mod:`.rebase`); all in one transaction (:mod:`.follow`).
So every front that knows the whole ledger and has no tail has the same rows.
"""
