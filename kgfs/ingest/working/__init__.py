"""Claim jobs from the queue, read documents, publish the Readings in order."""
