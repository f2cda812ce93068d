"""Ingest tells: it turns bytes that were written into names, versions, Readings and knowledge. It never answers questions.

Called by ``tree`` (a file is written), ``cli`` (ingest, worker) and ``app``. The stages, in the order of the work:
spool → keep → settle → identify (in the process that takes the bytes), parse → chunk → gate → extract → validate →
rank → match → commit → index (in the worker). Each stage is a module; ``pipeline`` runs them, ``worker`` claims jobs.
A crash anywhere is resumed from the journal, and each stage may run twice with the same result.
"""
