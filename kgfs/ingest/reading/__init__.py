"""Read a stored original into its Reading. Does not depend on the graph."""
