"""Lease tasks: of several machines that work on one graph, one at a time does a task. ``ingest`` uses them, from any
number of threads."""
