"""Sharing: homes with one garage tell each other what they did, and do what the others did."""
