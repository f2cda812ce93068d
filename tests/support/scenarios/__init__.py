"""Scenarios of an honest filesystem, written once and run in memory and on a real mount.

``filesystem.SCENARIOS`` are functions of a :class:`driver.Driver` whose paths are relative to a writable folder: the
``documents/`` of the small tree here, or of a real home. ``memory.MemoryDriver`` walks a Vfs without a kernel,
``mounted.MountDriver`` uses the operating system.
"""
