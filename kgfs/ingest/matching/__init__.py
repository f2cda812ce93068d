"""Match the concepts of a Reading with concepts of the graph, and make graph rows from the result."""
