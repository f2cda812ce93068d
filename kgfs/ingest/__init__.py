"""Ingest tells: it turns bytes that were written into names, versions, Readings and knowledge. It never answers questions.

Called by ``tree`` (a file is written), ``cli`` (ingest, worker) and ``app``. The stages, in the order of the work:
spool → keep → settle → identify (``keeping``, in the process that takes the bytes), parse → chunk → gate → extract →
validate → rank (``reading``) → match → commit (``matching``) → index, by the worker (``working``). Each stage is a
module; ``working.pipeline`` runs them, ``working.worker`` claims jobs. A crash anywhere is resumed from the journal,
and each stage may run twice with the same result. ``depositing`` has the use cases of documents/, ``life`` what happens
to a document afterwards, ``sharing`` what homes with one garage tell each other, ``mending`` what makes lost things again.
"""
