"""Project a home's graph to a Neo4j server, for people and programs that ask Cypher (docs/graph.md).

The source is the home's own SQLite graph; the server holds a copy that is made from it and is never read back. One thread of the
worker that holds the lease calls :meth:`~.projection.Projection.follow`, and nothing else waits for the server. Every write is
bounded and can be repeated, so a process or a server that is killed at any point loses nothing: the next call goes on.
"""
