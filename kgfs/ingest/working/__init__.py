"""Working: what is owed is claimed, read and published, in order."""
