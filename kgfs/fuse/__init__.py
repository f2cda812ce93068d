"""Adapt ``tree`` to the kernel with pyfuse3. This package knows nothing of documents or concepts.

Only this package turns errors into errnos and invalidates the kernel's caches. ``app`` calls :func:`mount.mount` once
per process, because pyfuse3 has one session. ``cli`` calls ``probe`` and ``machine``, which any number of threads may
call. Requests are served on one event loop, by as many tasks as the kernel keeps busy. Invalidations are sent from
threads of their own. When ``mount`` returns, nothing is mounted any more, and every file that was open for writing
has been released.
"""
