"""Fuse: the thin adapter between the kernel and ``tree``. Knows pyfuse3 and nothing of knowledge.

The one place where errors become errnos, and where the kernel's caches are invalidated. ``app`` calls :func:`mount.mount`,
once a process (pyfuse3 has one session); ``cli`` asks ``probe`` and ``machine``, which any number of threads may. Requests
are served by as many tasks as the kernel keeps busy, on one event loop; invalidations leave through threads of their own.
When ``mount`` returns nothing is mounted any more and everything that was open for writing has been released.
"""
