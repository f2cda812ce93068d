"""The golden home: a home of the format of now, kept as ``tests/data/golden/home.tar.xz`` with what it showed.

:mod:`.make` writes it, from the documents in :mod:`.contents`; :mod:`.observe` reads a mounted home; :mod:`.opening` unpacks it for
tests. A commit that changes what a home stores or shows makes it anew, and says so.
"""
