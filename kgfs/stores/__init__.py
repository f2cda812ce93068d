"""Stores keep. Four contracts, each with an embedded implementation, an in-memory fake and one conformance suite:

- ``garage``: objects (originals, Readings, Records) and the ledger. The truth.
- ``journal``: names, versions, inbox, what is owed; the ledger's front. Derived from the ledger, but durable first.
- ``graph``: documents, sources, instances, concepts, relationships, full text. Derived.
- ``vectors``: embeddings. Derived.

Called by every room above, from several threads and several processes at once: each implementation is
thread-safe, and the embedded ones may be open in many processes. All calls block; what a contract marks
*quick* takes tens of microseconds and may be called on the event loop, the rest belongs in a thread.
Only this room imports a database driver. Errors are those of ``kgfs.errors``.
"""
