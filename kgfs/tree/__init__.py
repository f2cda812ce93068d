"""The tree: what the filesystem looks like. Nodes, inodes, open files, one file a view; ``views`` has the table of views.

``vfs`` is the filesystem without a kernel: ``fuse`` calls it for every request, tests call it directly. Handlers run on
one event loop. What need not wait is answered inline, all else in a thread. Errors are typed.
"""
