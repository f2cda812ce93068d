"""Deposit: the use cases that change ``documents/``, for the tree and the commands alike."""
