"""Reading: from a kept original to its Reading. Knows no graph."""
