from __future__ import annotations

from tests.support.depositing import desk  # noqa: F401 - a fixture
from tests.support.working import config, stores  # noqa: F401 - fixtures
