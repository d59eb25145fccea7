"""The self-test's lanes for device code: who is chosen, what a candidate consists of, and where none of it is tried."""

from __future__ import annotations

import pytest

from kernelevolve.farm.inline import InlineFarm
from kernelevolve.model.job import Job
from kernelevolve.model.verdict import Outcome, Stage, Verdict
from kernelevolve.selftest.corpus import ON_GPU, attacks, default_root, honest, read_entry
from kernelevolve.selftest.run import selftest
from kernelevolve.toolchains.libcuda import gpu

ROOT = default_root()


def test_lane_cuda_stands_for_all_that_a_gpu_judges_attacks_and_honest_kernels_alike() -> None:
    for entries in (attacks(ROOT), honest(ROOT)):
        assert {entry.lane for entry in entries if entry.is_of("cuda")} == set(ON_GPU)
        assert {entry.lane for entry in entries if entry.is_of("triton")} == {"triton"}
        assert {entry.lane for entry in entries if entry.is_of("cuda_python")} == {"cuda_python"}
        assert {entry.lane for entry in entries if entry.is_of("")} >= {*ON_GPU, "library"}


def test_a_device_code_candidate_is_its_source_its_plan_and_its_headers() -> None:
    entry = read_entry(ROOT / "honest" / "F7_cuda_own_header" / "honest.toml")
    assert {file.path for file in entry.candidate().files} == {"kernel.cu", "launch.toml", "affine.cuh"}
    tuned = read_entry(ROOT / "honest" / "F7_triton_tuned" / "honest.toml").candidate()
    assert tuned.language == "triton"
    assert {file.path for file in tuned.files} == {"kernel.py", "launch.toml"}


def test_where_nothing_can_judge_them_they_are_elsewhere_and_nothing_is_right() -> None:
    """Entries that this machine cannot judge are left out of the figures, not counted as judged."""

    def evaluate(job: Job) -> Verdict:
        return Verdict(
            task_id=job.task.content_id, candidate_id=job.candidate.id, outcome=Outcome.CORRECT, stage=Stage.CHECK
        )

    if gpu() is not None:
        pytest.skip("this machine judges all of them")
    others = [entry for entry in attacks(ROOT) if entry.lane == "cuda_python"][:3]
    report = selftest(others, [], InlineFarm(evaluate), secret="s", n_threads=1)
    assert others
    assert report.elsewhere == tuple(entry.name for entry in others)
    assert report.found == ()


def test_host_code_for_a_gpu_is_python_and_so_are_its_rivals() -> None:
    """Device code is timed by another clock than theirs; entries in which compilers run have the time for it."""
    entry = read_entry(ROOT / "attacks" / "T1_cuda_python_side_stream" / "attack.toml")
    assert (entry.platform, entry.candidate().language) == ("cuda", "python")
    assert [(rival.language, rival.files[0].path) for rival in entry.rivals] == [("python", "kernel.py")]
    device = read_entry(ROOT / "attacks" / "T12_cuda_private_batch" / "attack.toml")
    assert [rival.language for rival in device.rivals] == ["cuda"]
    slow = read_entry(ROOT / "honest" / "F7_cuda_python_compiler" / "honest.toml")
    assert slow.call_s > entry.call_s
