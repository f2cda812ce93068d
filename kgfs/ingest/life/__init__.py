"""The life of what was read: forgotten, purged, read again, derived again."""
