"""Sharing: homes with one garage replicate their facts through its ledger."""
