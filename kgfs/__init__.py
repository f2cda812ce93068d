"""kgfs, a semantic filesystem. Rooms, from the top: cli, app, fuse, tree, knowledge and ingest, compute,
stores, models, render, and the words they share: domain, config, errors. The README has the picture."""

__version__ = "0.1.0"
