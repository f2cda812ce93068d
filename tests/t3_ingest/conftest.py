from __future__ import annotations

from tests.support.depositing import desk  # noqa: F401 - a fixture
from tests.support.following import homes  # noqa: F401 - a fixture
from tests.support.hosts import garage, here, there  # noqa: F401 - fixtures
from tests.support.working import config, stores  # noqa: F401 - fixtures
