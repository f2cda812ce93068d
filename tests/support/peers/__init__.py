"""Peers that cannot be had as a program: stand-ins for tests, named as such wherever a result is shown."""
