"""Qdrant's HTTP interface in front of ``qdrant_edge``, the server's own engine: what ``[qdrant-wire]`` in a test's id means.

Bodies are read and written through ``qdrant_client.http.models``, so both sides of the wire agree on the published
shapes. What is not carried over here (sparse vectors, recommendations, clusters …) is refused with 501, never guessed.
One process, one engine: operations on a collection are done one at a time.
"""
