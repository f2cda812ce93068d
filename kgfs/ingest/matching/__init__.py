"""Matching: which concepts of the graph a Reading speaks of, and the rows that come of it."""
