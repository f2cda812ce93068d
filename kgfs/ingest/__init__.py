"""Turn written bytes into names, versions, Readings and knowledge. It answers no queries.

Callers are ``tree`` (a file is written), ``cli`` (the commands ingest and worker) and ``app``. The stages, in the
order in which they run: spool → keep → settle → identify (package ``storing``, in the process that takes the bytes),
then parse → chunk → gate → extract → validate → rank (``reading``) → match → commit (``matching``) → index, by the
worker (``working``). Each stage is one module. ``working.pipeline`` runs the stages, and ``working.worker`` claims
jobs. After a crash at any point the work resumes from the catalog. Each stage is idempotent: running it twice gives
the same result.

``writing`` has the use cases that change documents/. ``lifecycle`` has what happens to a document after it was
published. ``repair`` rebuilds lost data.
"""
