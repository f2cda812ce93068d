"""Share a bucket between homes: they replicate their facts through its ledger, and take turns to publish.

``app`` alone imports this room, and only where a home shares its bucket (``garage.shared``). ``exchange`` delivers and
follows facts, ``mounted`` does that beside a mount, ``follow_graph`` and ``follow_vectors`` carry the facts out in what
a home derives, ``turns`` decides which home publishes, ``snapshots`` makes copies for new homes to begin with. What
needs ``ingest``, which stands above, is handed in (``replay``). Each module says which threads may call it.
"""
