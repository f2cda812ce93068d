"""The tree: what the filesystem looks like. Nodes, inodes, open files, one file a view.

``vfs`` is the filesystem without a kernel: ``fuse`` calls it for every request, tests call it directly. Handlers run on
one event loop; metadata is answered inline from local stores, what may block goes to a thread. Errors are typed.
"""
