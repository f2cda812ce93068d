"""Lifecycle of documents that have been read: forget, purge, read again, embed again, rebuild."""
