"""Keep what a home has. Each of the four contracts has an embedded implementation, an in-memory fake and one
conformance suite:

- ``garage``: objects (originals, Readings, Records) and the ledger. The truth.
- ``catalog``: names, versions, inbox and the backlog of jobs; facts on their way to the ledger. Derived from the
  ledger, but facts are durable here first.
- ``graph``: documents, sources, instances, concepts, relationships, full text. Derived.
- ``vectors``: embeddings. Derived.

All rooms above call the stores, from several threads and several processes at the same time. Each implementation
is thread-safe, and the embedded ones may be open in many processes. All calls block. A call that a contract marks
*quick* takes tens of microseconds and may run on the event loop; other calls belong in a thread. Only this room
imports a database driver. Errors are those of ``kgfs.errors``."""
