from __future__ import annotations

from tests.support.hosts import garage, here, there  # noqa: F401 - fixtures
