"""Define the filesystem that users see: nodes, inodes, open files, and one module per view. ``views`` has the table
of views.

``vfs`` is the filesystem without a kernel. ``fuse`` calls it for every request, and tests call it directly. Handlers
run on one event loop. Work that cannot block is done inline, all other work in a thread. Errors are typed.
"""
