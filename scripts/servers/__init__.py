"""Real servers for trying and testing kgfs on one machine, without containers: ``python -m scripts.servers start``.

``make servers`` calls this. Each server is one module with ``install`` (what must be fetched or built, kept in a cache
that all checkouts share), ``command`` (how it is run) and ``prepare`` (until it answers, with its secrets in place).
Nothing here is imported by kgfs.
"""
