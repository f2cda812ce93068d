"""Compute: where heavy stages run. Today this process; the contract leaves room for a cluster."""
