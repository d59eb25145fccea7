"""kill -9 of the whole tree of a real campaign, judge and candidates included, then `resume`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "kill_and_resume.py"


@pytest.mark.slow
def test_a_real_campaign_killed_at_any_moment_ends_as_if_it_had_not_been() -> None:
    finished = subprocess.run(
        [sys.executable, str(SCRIPT), "--kills", "2", "--candidates", "6", "--seed", "5"],
        capture_output=True, text=True, timeout=500, check=True,
    )  # fmt: skip
    result = json.loads(finished.stdout.splitlines()[-1])
    assert (result["same_tree"], result["judged_twice"], result["left_running"]) == (2, 0, 0)
