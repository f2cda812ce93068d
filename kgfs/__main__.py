"""``python -m kgfs`` is ``kgfs``."""

from kgfs.cli import main

main()
