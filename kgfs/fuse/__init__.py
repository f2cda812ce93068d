"""Fuse: the thin adapter between the kernel and ``tree``. Knows pyfuse3 and nothing of knowledge.

The one place where errors become errnos, where lookups are counted, and where the kernel's caches are invalidated.
"""
