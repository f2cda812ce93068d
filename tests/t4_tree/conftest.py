from __future__ import annotations

from tests.support.depositing import desk  # noqa: F401 - a fixture
