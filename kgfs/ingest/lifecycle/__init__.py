"""Carry on the life of documents that have been read: forget, purge, read again, embed again, rebuild."""
