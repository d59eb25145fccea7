from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from kernelevolve.campaign.assemble import assemble, continue_campaign, open_campaign
from kernelevolve.errors import UnknownNameError
from kernelevolve.farm.fake import FakeFarm
from kernelevolve.farm.process import ProcessFarm
from kernelevolve.model.platform import PlatformFacts
from kernelevolve.store import open_store
from kernelevolve.store.base import Store
from kernelevolve.testing.samples import sample_task
from tests.campaign.parts import QUICK

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
FACTS = PlatformFacts(name="fake", kind="cpu")


def opened(store: Store, **changes: str) -> str:
    settings = QUICK.model_copy(update=changes)
    return open_campaign(store, task=sample_task(), settings=settings, facts=FACTS, now=NOW)


def test_names_become_a_whole_campaign(tmp_path: Path) -> None:
    store = open_store(tmp_path / "store")
    campaign = opened(store)
    closed = continue_campaign(store, campaign, cache_dir=tmp_path / "cache")
    assert closed.winner is not None
    row = store.campaigns()[0]
    assert (row.created, row.closed) == ("2026-01-02T03:04:05+00:00", True)


def test_the_platform_decides_the_farm(tmp_path: Path) -> None:
    assert isinstance(assemble(QUICK, cache_dir=tmp_path).farm, FakeFarm)
    real = assemble(QUICK.model_copy(update={"platform": "cpu"}), cache_dir=tmp_path).farm
    assert isinstance(real, ProcessFarm)
    real.close()


@pytest.mark.parametrize("name", ["policy", "proposer"])
def test_unknown_names_are_refused_before_anything_is_recorded(tmp_path: Path, name: str) -> None:
    store = open_store(tmp_path)
    with pytest.raises(UnknownNameError):
        opened(store, **{name: "none such"})
    assert store.campaigns() == []
