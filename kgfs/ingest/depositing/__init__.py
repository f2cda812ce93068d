"""Depositing: the use cases by which ``documents/`` is changed, for the tree and the commands alike."""
