"""Leases: of several machines that work on one graph, one at a time does a thing. Used by ``ingest``; any number of threads."""
