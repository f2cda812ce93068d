"""Rebase the facts of a home where several write to one ledger.

The ledger's entries are the one order of all facts. A home's catalog is the fold of two parts: the facts that it
knows the ledger has (*confirmed*), and its own facts that are not published yet (its *tail*). If the ledger goes on
with facts of other homes, the tail is undone (:mod:`.undo`), the other homes' facts are applied, and the tail is
rebased onto them (:mod:`.rebase`), all in one transaction (:mod:`.follow`). So all catalogs that know the whole
ledger and have no tail have the same rows.
"""
