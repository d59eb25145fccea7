"""A kernel of several files leaves a campaign whole, and says of each call whether it served it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from kernelevolve.interfaces.cli.candidates import read_candidate
from kernelevolve.interfaces.export.write import export_kernel
from kernelevolve.interfaces.record import fold
from kernelevolve.model.brief import Move, Operator
from kernelevolve.model.events import Closed, Judged, Opened, Proposed, Settings
from kernelevolve.model.platform import PlatformFacts
from kernelevolve.model.task import Task
from kernelevolve.testing.samples import TIME, sample_verdict
from tests.peers.judged import RIGHT, cpp

KERNEL = cpp(RIGHT.replace("1.0f", "offset"), head='#include "offset.h"', offset="static const float offset = 1.0f;\n")
CALLS = """\
import torch
import row_scale as module
x, w = torch.randn(5, 7), torch.randn(7)
for _ in range(3):
    torch.testing.assert_close(module.row_scale(x, w), x * w + 1)
    assert module.last_path() == "kernel", module.last_path()
(served,) = module.attestation()["kernels"].values()
print(served["calls"], module.attestation()["fallback"]["calls"], served["candidate_id"])
"""


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory, row_scale: Task) -> Path:
    facts = PlatformFacts(name="cpu", kind="cpu")
    verdict = sample_verdict(KERNEL, speedup=2.0).model_copy(update={"task_id": row_scale.content_id})
    events = [
        Opened(task=row_scale, settings=Settings(), facts=facts, time=TIME),
        Proposed(step=1, move=Move(operator=Operator.DRAFT), candidate=KERNEL, elapsed_s=1.0),
        Judged(step=1, verdict=verdict, elapsed_s=2.0),
        Closed(winner=1, reason="done", elapsed_s=3.0),
    ]
    folder = tmp_path_factory.mktemp("peers") / "row_scale"
    export_kernel(fold("c-1", events), folder)
    return folder


def test_no_file_is_left_out_and_what_is_exported_is_the_candidate(exported: Path) -> None:
    """PS50: read back, the sources are the very candidate that was measured, so that it can be measured again."""
    assert len(KERNEL.files) == 2
    files = {file.path: (exported / "kernel" / file.path).read_text() for file in KERNEL.files}
    assert files == {file.path: file.text for file in KERNEL.files}
    again = read_candidate(exported / "kernel", language="cpp")
    assert again.id == KERNEL.id == json.loads((exported / "evidence.json").read_text())["candidate_id"]


@pytest.mark.slow
def test_on_the_live_path_it_is_the_kernel_that_serves(exported: Path) -> None:
    """PS50: counted call by call, in a process that has nothing of kernelevolve."""
    code = f"import sys\nsys.modules['kernelevolve'] = None\n{CALLS}"
    done = subprocess.run([sys.executable, "-c", code], cwd=exported, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.split() == ["3", "0", KERNEL.id]
