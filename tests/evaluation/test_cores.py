"""Every side works on the same processors, and the judge's own thread gets its freedom back."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from kernelevolve.evaluation.cores import allowed, on

pytestmark = pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="needs Linux")
SHOW = [sys.executable, "-c", "import os; print(sorted(os.sched_getaffinity(0)))"]


def test_a_process_started_meanwhile_stays_there() -> None:
    before = os.sched_getaffinity(0)
    cores = allowed(1)
    with on(cores):
        shown = subprocess.run(SHOW, capture_output=True, text=True, check=True).stdout
    assert shown.strip() == str(sorted(cores))
    assert os.sched_getaffinity(0) == before


def test_never_more_than_there_are_and_an_impossible_wish_is_no_error() -> None:
    before = os.sched_getaffinity(0)
    assert allowed(10_000) == before
    with on({99_999}):
        assert os.sched_getaffinity(0) == before
    with on(set()):
        assert os.sched_getaffinity(0) == before
    assert os.sched_getaffinity(0) == before


def test_an_exception_does_not_keep_it_there() -> None:
    before = os.sched_getaffinity(0)
    with pytest.raises(ValueError, match="x"), on(allowed(1)):
        raise ValueError("x")
    assert os.sched_getaffinity(0) == before
