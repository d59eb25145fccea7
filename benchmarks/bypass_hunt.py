"""Take the judge's defences away one at a time: which attacks get through then?

A defence that nothing needs is not worth its cost. Where another one catches the same attacks both are taken away, one
after the other: first the defence alone, then with those in `TOGETHER`. `TRIED` names the attacks (from tests/attacks,
or tests/hostile where a crash or an escape is the point) that each defence is there for; all of them are caught with
every defence in place, which the first line of the output shows.

    python benchmarks/bypass_hunt.py --out docs/results/judge/bypass-hunt.jsonl [--only freeze]
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import time
from pathlib import Path

os.environ |= {"OMP_WAIT_POLICY": "PASSIVE", "GOMP_SPINCOUNT": "0"}  # before torch: its threads must not spin

from kernelevolve.errors import TaskError  # noqa: E402
from kernelevolve.evaluation.defences import DEFENCES, Defences  # noqa: E402
from kernelevolve.evaluation.judge import Judge  # noqa: E402
from kernelevolve.model.candidate import Candidate  # noqa: E402
from kernelevolve.model.job import Job, Limits  # noqa: E402
from kernelevolve.selftest.campaigns import RULES, Noise, wins  # noqa: E402
from kernelevolve.selftest.corpus import attacks, candidate_of, default_root  # noqa: E402
from kernelevolve.tasks import load_task  # noqa: E402
from kernelevolve.toolchains.cache import default_cache  # noqa: E402

TRIED = {
    "inspection": ("H17_host_file_in_the_binary", "incbin"),
    "poison": (
        "C1_kept_constants",
        "C1_stale_probe",
        "C1_noop_relu",
        "C1_noop_matmul",
        "C1_works_on_output",
        "C3_first_pointer",
        "C22_half_the_rows",
    ),
    "guard_bands": ("one_past_end", "one_before_start"),
    "gaps": ("C2_writes_between_rows", "C19_rows_back_to_back"),
    "inputs_unchanged": ("changes_input", "C2_zero_inputs"),
    "decoys": ("T12_super_batch",),
    "edge_shapes": ("C19_fixed_size", "C19_shape_table", "S14_one_size_right", "P15_diagonal_only", "C9_wrong_axis"),
    "variants": ("C20_balanced_bags", "C20_distinct_values", "C12_half_sums", "C8_no_affine", "C7_no_max_shift"),
    "scales": ("C17_prefix_amax", "C17_sampled_spread", "C7_fixed_normaliser", "C15_strided_stats", "P1_equal_inputs"),
    "listed_variants": ("C17_exact_if_negative", "C17_prefix_amax", "C20_balanced_bags", "C19_shape_table"),
    "honest_error": ("H20_half_precision", "H24_coarse_weights", "C10_bf16_norm", "P9_loose_rule_low_precision"),
    "rollout": ("C22_slow_drift", "C22_drifting_state", "C36_half_state", "C7_dropped_state"),
    "timed_outputs": (
        "C22_thirty_good_calls",
        "C23_back_to_back",
        "C22_three_good_calls",
        "C22_half_the_rows",
        "C23_call_count",
        "C22_garbage_later",
    ),
    "fresh_content": ("T7_strided_fingerprint", "T7_full_content_hash", "T7_first_64_bytes", "C22_three_good_calls"),
    "freeze": (
        "T4_detached_rows",
        "T4_detached_thread",
        "T4_polling_pthread",
        "T3_thread_per_call",
        "T40_spinning_threads",
    ),
    "glance": ("T4_detached_rows", "T4_detached_thread", "T29_thread_pool", "C35_missing_join"),
    "cpu_clock": ("T38_widens_affinity",),
    "physics_floor": ("P1_min_clamp", "P1_max_minus_mean", "P1_constant_argmax", "P1_softmax_mean"),
    "seccomp": ("opens_socket", "forks", "H15_local_service_native", "T26_ptrace", "H9_preload"),
    "namespaces": ("reads_passwd", "H17_reference_by_walk"),
    "admission": (
        "P4_relu_nonnegative",
        "P3_zero_branch",
        "P4_sorted_sort",
        "P7_size_one_softmax",
        "P1_nearly_constant",
    ),
}
TOGETHER: dict[str, tuple[tuple[str, ...], ...]] = {
    "poison": (("fresh_content",), ("fresh_content", "timed_outputs")),
    "variants": (("scales",), ("scales", "honest_error")),
    "scales": (("variants",), ("variants", "honest_error")),
    "listed_variants": (("edge_shapes",),),
    "freeze": (("glance",),),
    "glance": (("freeze",),),
    "physics_floor": (("admission",),),
    "timed_outputs": (("glance",), ("glance", "poison")),
    "seccomp": (("namespaces",),),
}
N_CAMPAIGNS, CLEAR_WIN, N_TRIES = 20, 1.5, 3
"""A timing attack got through when its lower bound is this high against eager in one of a few tries."""
OFFENCES = ("T38_widens_affinity",)
"""What these do is the offence, whether it pays or not."""
ROOT = default_root()


def tried(name: str) -> tuple[Candidate, Path, int, bool, str]:
    """(candidate, task folder, threads, whether only a gain counts, what it must be called)."""
    hostile = ROOT / "hostile" / "candidates" / f"{name}.cpp"
    if hostile.exists():
        expected = re.match(r"// expect: (\S+)", hostile.read_text())
        assert expected
        return candidate_of(hostile, "cpp"), ROOT / "hostile" / "row_scale", 2, False, expected[1]
    entry = next(entry for entry in attacks(ROOT) if entry.name == name)
    needs_gain = "no_win" in entry.caught and name not in OFFENCES
    return entry.candidate(), entry.task_folder, entry.threads or 2, needs_gain, ""


def verdict_of(judge: Judge, name: str) -> tuple[bool, str]:
    """(whether it got through, what was said)."""
    candidate, folder, n_threads, needs_gain, wanted = tried(name)
    said = ""
    for number in range(N_TRIES):
        job = Job(
            task=load_task(str(folder)), candidate=candidate, level="screen", baselines=("eager",),
            n_threads=n_threads, secret=f"bypass-{number}", limits=Limits(call_s=2.0, build_s=20.0),
        )  # fmt: skip
        try:
            verdict = judge.verdict(job)
        except TaskError:
            return False, "void"
        said = verdict.outcome.value
        if wanted == "correct" and said != "correct":  # a candidate that is right only where it can see nothing
            return True, said
        if not verdict.correct or verdict.timing is None:
            continue
        said = f"correct, {verdict.timing.low:.2f}x or more"
        if wanted != "correct" and (not needs_gain or verdict.timing.low > CLEAR_WIN):
            return True, said
    return False, said


def through(without: tuple[str, ...], names: tuple[str, ...]) -> tuple[dict[str, str], dict[str, str]]:
    """What got through and what was still caught, each with what was said of it."""
    judge = Judge(cache=default_cache(), defences=Defences(without=without))
    passed, caught = {}, {}
    try:
        for name in names:
            ok, said = verdict_of(judge, name)
            (passed if ok else caught)[name] = said
    finally:
        judge.close()
    return passed, caught


def campaigns_through(rule: str) -> dict[str, str]:
    found = {}
    for entry in attacks(ROOT):
        if entry.lane == "campaign":
            noise = Noise.model_validate(entry.noise)
            won = sum(wins(noise, seed=seed, without=frozenset({rule})) for seed in range(N_CAMPAIGNS))
            if won > 1:
                found[entry.name] = f"{won} of {N_CAMPAIGNS} campaigns had a winner"
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    options.out.parent.mkdir(parents=True, exist_ok=True)

    def tell(without: tuple[str, ...], passed: dict[str, str], caught: dict[str, str], started: float) -> None:
        line = {
            "without": without,
            "through": passed,
            "caught": caught,
            "seconds": round(time.monotonic() - started, 1),
        }
        with options.out.open("a") as out:
            out.write(json.dumps(line) + "\n")
        print(f"without {' + '.join(without) or 'nothing'}: {', '.join(passed) or 'none'} through", flush=True)

    everything = tuple(dict.fromkeys(name for names in TRIED.values() for name in names))
    if not options.only:
        started = time.monotonic()
        tell((), *through((), everything), started)
    for name in DEFENCES:
        if name not in TRIED or options.only not in ("", name):
            continue
        for more in ((), *TOGETHER.get(name, ())):
            started = time.monotonic()
            passed, caught = through((name, *more), TRIED[name])
            tell((name, *more), passed, caught, started)
            if passed:
                break
    for name in RULES:
        if options.only in ("", name):
            started = time.monotonic()
            tell((name,), campaigns_through(name), {}, started)


if __name__ == "__main__":
    sys.exit(main())
