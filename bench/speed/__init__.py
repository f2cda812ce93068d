"""What kgfs costs beside the thinnest pyfuse3 filesystem: ``python -m bench.speed``."""
