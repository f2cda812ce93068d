"""The graph in a Neo4j server. What stands there, for people with their own tools: ``docs/graph.md``."""
