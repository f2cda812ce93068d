"""Compute: where heavy stages run: this process, or a Ray cluster."""
