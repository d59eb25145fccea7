"""Tests have a cache of their own; compilers that take minutes to install stay where the user has them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kernelevolve.toolchains.cache import default_cache

ENVIRONMENTS = os.environ.get("KERNELEVOLVE_ENVIRONMENTS") or str(default_cache() / "environments")


@pytest.fixture(autouse=True)
def environments(monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KERNELEVOLVE_ENVIRONMENTS", ENVIRONMENTS)
    return Path(ENVIRONMENTS)
