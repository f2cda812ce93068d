from __future__ import annotations

from tests.support.following import homes  # noqa: F401 - a fixture
from tests.support.hosts import garage, here, there  # noqa: F401 - fixtures
