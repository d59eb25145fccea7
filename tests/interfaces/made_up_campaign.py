"""Campaigns that never ran: a greedy-looking search of any length, and text a hostile candidate might carry."""

from __future__ import annotations

import math
import random

from kernelevolve.interfaces.record import Record, fold
from kernelevolve.model.brief import Move, Operator
from kernelevolve.model.candidate import Candidate, Origin
from kernelevolve.model.diagnosis import Bottleneck, Diagnosis
from kernelevolve.model.events import Closed, Confirmed, Diagnosed, Event, Judged, Opened, Proposed, Sealed, Settings
from kernelevolve.model.platform import PlatformFacts
from kernelevolve.model.task import Axis, Rule, ShapeSets, SourceFile, Task, TensorSpec
from kernelevolve.model.verdict import (
    Comparison,
    CompileMessage,
    Mismatch,
    Outcome,
    ShapeTiming,
    Stage,
    Timing,
    Verdict,
)

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)> \"' {{ 7*7 }} [bold red] \x1b[31m \u202e"

SOURCE = """\
#include <cstring>
#define UNROLL {unroll}
// Sorted probe with a small direct-mapped index in front.
extern "C" int map_id(const int64_t* v, const int64_t* table, int64_t* out, int64_t B, int64_t L, int64_t M) {{
    const int64_t n = B * L;
#pragma omp parallel for schedule(static) num_threads(KE_THREADS)
    for (int64_t i = 0; i < n; i += UNROLL) {{
        for (int64_t j = i; j < i + UNROLL && j < n; ++j) {{
            int64_t low = 0, span = M;
            while (span > 0) {{ // branch-free halving
                const int64_t half = span >> 1;
                low += (table[low + half] < v[j]) ? half + 1 : 0;
                span = half;
            }}
            out[j] = low < M && table[low] == v[j] ? low + 1 : 0;
        }}
    }}
    return 0;
}}
"""

TASK = Task(
    name="map_id",
    summary="1-based position of every id in a sorted table, 0 if absent",
    family="map_id",
    entry="map_id",
    axes=(Axis(name="B", high=100000), Axis(name="L", high=100000), Axis(name="M", high=2**20)),
    inputs=(
        TensorSpec(name="v", dtype="int64", dims=("B", "L")),
        TensorSpec(name="table", dtype="int64", dims=("M",)),
    ),
    outputs=(TensorSpec(name="out", dtype="int64", dims=("B", "L")),),
    rule=Rule(kind="bitwise"),
    shapes=ShapeSets(
        shown=({"B": 100, "L": 10000, "M": 10000}, {"B": 1000, "L": 1000, "M": 50000}),
        search=({"B": 97, "L": 4096, "M": 9973},),
        sealed=({"B": 101, "L": 9001, "M": 20011}, {"B": 512, "L": 512, "M": 1048576}),
    ),
    files=(SourceFile(path="reference.py", text="def reference(v, table):\n    return v\n"),),
)
FACTS = PlatformFacts(
    name="cpu", kind="cpu", model="Imaginary 9000 64-Core Processor", n_cores=2, isa=("avx2", "fma", "avx512f"),
    l1d_bytes=48 * 1024, l2_bytes=2**20, l3_bytes=32 * 2**20, memory_bytes=16 * 2**30,
    copy_gb_per_s=38.0, cached_copy_gb_per_s=210.0, fma_gflop_per_s=140.0, compilers=("g++ 12.2.0",),
)  # fmt: skip
FAILURES = (
    (Outcome.BUILD_FAILED, "expected ';' before '}' token"),
    (Outcome.WRONG, "17 of 1000000 elements differ"),
    (Outcome.CRASHED, "killed by SIGSEGV"),
    (Outcome.TIMEOUT, "a call took longer than 10 s"),
    (Outcome.OUT_OF_BOUNDS, "64 bytes behind out were overwritten"),
    (Outcome.REJECTED, "flag '-fplugin' is not allowed"),
)


def timing_of(level: str, shapes: tuple[dict[str, int], ...], speedup: float) -> Timing:
    rows = []
    for index, shape in enumerate(shapes):
        found = speedup * (1 + 0.08 * index)
        comparisons = tuple(
            Comparison(
                baseline=name, baseline_us=820.0 * factor, candidate_us=820.0 / found, speedup=found * factor,
                low=found * factor * 0.96, high=found * factor * 1.05, log_ratios=(math.log(found * factor),) * 3,
            )
            for name, factor in (("eager", 1.9), ("compile", 1.0))
        )  # fmt: skip
        latency_us = 820.0 / found
        rows.append(
            ShapeTiming(
                shape=shape, latency_us=latency_us, bytes_moved=16_000_000, floor_us=61.0, comparisons=comparisons
            )
        )
    return Timing(level=level, shapes=tuple(rows), speedup=speedup, low=speedup * 0.97, high=speedup * 1.03)


def correct(candidate: Candidate, level: str, speedup: float) -> Verdict:
    shapes = TASK.shapes.sealed if level == "sealed" else TASK.shapes.shown + TASK.shapes.search
    return Verdict(
        task_id=TASK.content_id, candidate_id=candidate.id, outcome=Outcome.CORRECT, stage=Stage.MEASURE, n_checks=64,
        isolation=("seccomp", "rlimits", "network namespace"), timing=timing_of(level, shapes, speedup),
    )  # fmt: skip


def failed(candidate: Candidate, outcome: Outcome, message: str) -> Verdict:
    stage = {Outcome.BUILD_FAILED: Stage.BUILD, Outcome.REJECTED: Stage.INSPECT}.get(outcome, Stage.CHECK)
    compiler = (CompileMessage(file="kernel.cpp", line=12, message=message),) if stage is Stage.BUILD else ()
    mismatch = None
    if outcome is Outcome.WRONG:
        mismatch = Mismatch(tensor="out", shape={"B": 3, "L": 5, "M": 7}, n_wrong=17, n_total=1_000_000)
    return Verdict(
        task_id=TASK.content_id, candidate_id=candidate.id, outcome=outcome, stage=stage, message=message,
        compile_messages=compiler, mismatch=mismatch, output=message,
    )  # fmt: skip


def candidate(step: int, *, text: str = "", intent: str = "") -> Candidate:
    source = text or SOURCE.format(unroll=step)
    recipe = ("binary_search", "hash_gather", "eytzinger")[step % 3]
    origin = Origin(
        proposer="builtin", recipe=recipe, parameters={"UNROLL": str(step % 8)},
        intent=intent or f"unroll {step % 8} times so that more loads are in flight",
    )  # fmt: skip
    return Candidate(language="cpp", files=(SourceFile(path="kernel.cpp", text=source),), origin=origin)


def events(n_steps: int, *, seed: int = 0, close: bool = True, win: bool = True, hostile: bool = False) -> list[Event]:
    """`n_steps` nodes: 6 drafts, then moves from the best nodes; about half of them right."""
    rng = random.Random(seed)
    text = HOSTILE if hostile else ""
    task = TASK.model_copy(update={"summary": text}) if hostile else TASK
    settings = Settings(seed=seed, max_candidates=n_steps, max_seconds=600, n_threads=2)
    found: list[Event] = [
        Opened(
            task=task,
            settings=settings,
            facts=FACTS.model_copy(update={"model": text or FACTS.model}),
            time="2026-01-02T03:04:05+00:00",
        )
    ]
    speeds: dict[int, float] = {}
    kept: dict[int, Candidate] = {}
    for step in range(1, n_steps + 1):
        move = _move(rng, step, speeds)
        made = candidate(step, intent=text, text=f"// {text}\n{SOURCE.format(unroll=step)}" if hostile else "")
        found.append(Proposed(step=step, move=move, candidate=made, elapsed_s=step * 0.61))
        kept[step] = made
        same_as = 1 if step > 1 and rng.random() < 0.05 else None
        if same_as or rng.random() < 0.42:
            outcome, message = rng.choice(FAILURES)
            verdict = failed(made, outcome, text or message)
        else:
            base = speeds[move.parents[0]] if move.parents else 0.4 + 0.5 * rng.random()
            speeds[step] = max(0.2, base * math.exp(rng.gauss(-0.12, 0.2 if base < 2 else 0.09)))
            verdict = correct(made, "screen", speeds[step])
        found.append(Judged(step=step, verdict=verdict, elapsed_s=step * 0.61 + 0.4, same_as=same_as))
        if step in speeds and step % 3 == 0:
            found.append(
                Diagnosed(
                    step=step, diagnosis=Diagnosis(bottleneck=Bottleneck.MEMORY, advice=text or "prefetch the table")
                )
            )
    if not close:
        return found
    best = max(speeds, key=lambda step: speeds[step])
    found.append(Confirmed(step=best, verdict=correct(kept[best], "confirm", speeds[best]), elapsed_s=n_steps * 0.62))
    if win:
        found.append(
            Sealed(step=best, verdict=correct(kept[best], "sealed", speeds[best] * 0.99), elapsed_s=n_steps * 0.63)
        )
    found.append(Closed(winner=best if win else None, reason="the candidates are used up", elapsed_s=n_steps * 0.64))
    return found


def record(n_steps: int, **options: bool | int) -> Record:
    return fold("map_id-3f9a2c", events(n_steps, **options))  # type: ignore[arg-type]


def _move(rng: random.Random, step: int, speeds: dict[int, float]) -> Move:
    if step <= 6 or not speeds or rng.random() < 0.02:
        return Move(operator=Operator.DRAFT)
    ranked = sorted(speeds, key=lambda known: -speeds[known])
    first = ranked[min(int(rng.expovariate(0.5)), len(ranked) - 1)]
    if len(ranked) > 1 and rng.random() < 0.08:
        second = next(known for known in ranked if known != first)
        return Move(operator=Operator.CROSS, parents=(first, second))
    return Move(operator=Operator.MUTATE, parents=(first,))
