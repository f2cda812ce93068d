"""The prefix under which a shared bucket records how far servers have followed the ledger. Like leases, these
records are valid only in this bucket."""

POSITIONS = "positions/"
