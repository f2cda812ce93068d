"""Where a shared bucket tells how far servers beside it have followed the ledger; of this place alone, as leases are."""

POSITIONS = "positions/"
