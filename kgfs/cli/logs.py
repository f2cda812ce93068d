"""Format the logs for people, ``log/mount.log`` and ``log/worker.log``, which are the standard error of the logging
processes.
"""

from __future__ import annotations

import logging


class Records(logging.Formatter):
    """Format each record as one line. Further lines of the record, such as a traceback, begin with a tab.

    So no quoted text can be taken for a record, and a purge finds where each record ends.
    """

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s %(message)s")

    def format(self, record: logging.LogRecord) -> str:
        return "\n\t".join(super().format(record).splitlines())


def log_to_stderr() -> None:
    """Log to standard error, in the format of :class:`Records`."""
    handler = logging.StreamHandler()
    handler.setFormatter(Records())
    logging.basicConfig(level=logging.INFO, handlers=[handler])
