"""The logs for people, ``log/mount.log`` and ``log/worker.log``: standard error of the processes that write them."""

from __future__ import annotations

import logging


class Records(logging.Formatter):
    """One line a record, and what follows it, a traceback for one, behind a tab: no text that is quoted there can pass for a
    record, and a purge finds where each ends."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s %(message)s")

    def format(self, record: logging.LogRecord) -> str:
        return "\n\t".join(super().format(record).splitlines())


def log_to_stderr() -> None:
    handler = logging.StreamHandler()
    handler.setFormatter(Records())
    logging.basicConfig(level=logging.INFO, handlers=[handler])
