"""Stand-ins for stores, for tests alone: models to compare a store with, and a bucket without a server."""
