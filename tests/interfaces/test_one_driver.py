"""Two processes on one campaign: the second is told so at once, instead of failing somewhere in the middle."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelevolve.campaign.driver_lock import DriverLock
from kernelevolve.interfaces.cli.main import main


def test_a_campaign_that_is_driven_is_not_driven_twice(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = str(tmp_path / "runs")
    assert (
        main(["run", "map_id", "--platform", "fake", "--proposer", "fake", "--max-candidates", "3", "--store", store])
        == 0
    )
    campaign = next(path.name for path in (tmp_path / "runs" / "drivers").iterdir()).removesuffix(".lock")
    with DriverLock(tmp_path / "runs", campaign):
        assert main(["resume", campaign, "--store", store]) == 2
    assert "driven by another one, process" in capsys.readouterr().err
    assert main(["resume", campaign, "--store", store]) == 0
