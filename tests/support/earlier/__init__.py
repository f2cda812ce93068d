"""Homes that an earlier kgfs wrote, kept in ``tests/data/earlier`` for good: every later kgfs must open them.

:mod:`.make` wrote them, with the code of the commit that ``made_by`` in each JSON file names; :mod:`.contents` has the documents that were
put in. :mod:`.observe` reads a mounted home, which gave the JSON files beside the archives and gives what tests compare with them.
The archives are never made again.
"""
