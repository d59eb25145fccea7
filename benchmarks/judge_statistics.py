"""A/A and power: how often is a kernel found different from itself, and how often is a true difference of 3 % found?

Half of the A/A comparisons are of a kernel that computes, half of one that waits for memory. Both sides are C++ kernels
in processes of their own, compared as a campaign compares its winner (level "sealed": five processes of each, default
plan). The slower side of the power test computes 3 % of its rows twice.

    python benchmarks/judge_statistics.py --out docs/results/judge/statistics.jsonl [--aa 200] [--power 100]
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

from kernelevolve.errors import MachineError
from kernelevolve.farm import make_farm
from kernelevolve.farm.base import Farm
from kernelevolve.model.candidate import Candidate, Origin
from kernelevolve.model.job import Job
from kernelevolve.model.task import SourceFile, Task
from kernelevolve.model.verdict import Comparison
from kernelevolve.tasks import load_task
from kernelevolve.toolchains.cache import default_cache

MAX_TRIES = 8
KERNEL = """
#include <cmath>
// No calls in the inner loop: where a called function happens to lie moves such a kernel by 10 % and more from one
// process to the next, which is a property of the machine and not of the statistics.
static inline float exponential(float x) {
    const float n = std::nearbyintf(x * 1.44269504f);
    const float r = (x - n * 0.693145752f) - n * 1.42860677e-6f;
    float p = 1.98756915e-4f;
    p = p * r + 1.39819995e-3f;
    p = p * r + 8.33345190e-3f;
    p = p * r + 4.16657962e-2f;
    p = p * r + 1.66666654e-1f;
    p = p * r + 5.00000012e-1f;
    const float e = p * r * r + r + 1.0f;
    const int32_t bits = ((int32_t)n + 127) << 23;
    float scale;
    memcpy(&scale, &bits, 4);
    return n < -126.0f ? 0.0f : e * scale;
}
static volatile float zero = 0.0f;  // unknown to the compiler: every exponential below is computed
static void row(const float* x, float* out, int64_t C) {
    float top = x[0], sum = 0;
    const float z = zero;
    for (int64_t c = 0; c < C; ++c) top = x[c] > top ? x[c] : top;
    for (int64_t c = 0; c < C; ++c) {  // arithmetic, not memory, is what takes the time
        float e = 0;
        for (int j = 0; j < 16; ++j) e += exponential(x[c] - top + z * j);
        sum += out[c] = e * 0.0625f;
    }
    const float scale = 1.0f / sum;
    for (int64_t c = 0; c < C; ++c) out[c] *= scale;
}
extern "C" int softmax(const float* x, float* out, int64_t R, int64_t C) {
    static volatile int64_t extra = EXTRA;  // read at run time: the machine code is the same for both sides
    const int64_t again = R * extra / 100;  // rows that are computed twice
#pragma omp parallel for schedule(static) num_threads(THREADS)
    for (int64_t r = 0; r < R + again; ++r) {
        const int64_t at = (r < R ? r : (r - R) * (R / (again ? again : 1))) * C;
        row(x + at, out + at, C);
    }
    return 0;
}
"""


MEMORY_KERNEL = """
#include <cmath>
extern "C" int rms_norm(const float* x, const float* weight, float* out, int64_t R, int64_t C) {
    for (int64_t r = 0; r < R; ++r) {
        float sum = 0;
        for (int64_t c = 0; c < C; ++c) sum += x[r * C + c] * x[r * C + c];
        const float scale = 1.0f / std::sqrt(sum / (float)C + 1e-6f);
        for (int64_t c = 0; c < C; ++c) out[r * C + c] = x[r * C + c] * scale * weight[c];
    }
    return 0;
}
"""


def kernel(extra: int, n_threads: int, mark: str, source: str = KERNEL) -> Candidate:
    text = f"// {mark}\n#define EXTRA {extra}\n#define THREADS {n_threads}\n{source}"
    file = SourceFile(path="kernel.cpp", text=text)
    return Candidate(
        language="cpp", files=(file,), flags=("-ffast-math",), origin=Origin(proposer="benchmark", recipe=mark)
    )


def memory_task() -> Task:
    """The built-in RMS norm on one shape of 8 MB: a kernel that mostly waits for memory."""
    loaded = load_task("rms_norm")
    shape = {"R": 1021, "C": 1024}
    return loaded.model_copy(
        update={"shapes": loaded.shapes.model_copy(update={"search": (shape,), "sealed": (shape,)})}
    )


def task() -> Task:
    """The built-in softmax on one shape, so that a comparison is one comparison; about 1 ms on one thread."""
    loaded = load_task("softmax")
    shape = {"R": 300, "C": 1024}
    return loaded.model_copy(
        update={"shapes": loaded.shapes.model_copy(update={"search": (shape,), "sealed": (shape,)})}
    )


def compare(farm: Farm, extra: int, source: str, n_threads: int) -> tuple[Comparison, float, int]:
    """(what was found, other runnable threads meanwhile, how often the machine was quarantined before)."""
    of = task() if source is KERNEL else memory_task()
    job = Job(
        task=of, level="sealed", baselines=(), candidate=kernel(0, n_threads, "candidate", source), secret="statistics",
        user_baselines=(kernel(extra, n_threads, "rival", source),), n_threads=n_threads,
    )  # fmt: skip
    for n_quarantined in range(MAX_TRIES):
        try:
            verdict = farm.submit(job).result()
        except MachineError as error:
            print(error, file=sys.stderr, flush=True)
            time.sleep(2.0)
            continue
        assert verdict.timing is not None, verdict.message
        return verdict.timing.shapes[0].comparisons[0], verdict.disturbed, n_quarantined
    raise MachineError(f"the machine was quarantined {MAX_TRIES} times in a row")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--aa", type=int, default=200)
    parser.add_argument("--power", type=int, default=100)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    options.out.parent.mkdir(parents=True, exist_ok=True)
    half = options.aa // 2
    plan = [("aa", 0, KERNEL)] * (options.aa - half) + [("power", 3, KERNEL)] * options.power
    plan += [("aa", 0, MEMORY_KERNEL)] * half
    done = options.out.read_text().count("\n") if options.out.exists() else 0  # an earlier run goes on
    with (
        options.out.open("a") as out,
        closing(make_farm("process", n_threads=options.threads, cache_dir=default_cache())) as farm,
    ):
        for number, (kind, extra, source) in list(enumerate(plan))[done:]:
            started = time.monotonic()
            found, busy, n_quarantined = compare(farm, extra, source, options.threads)
            line = {
                "kind": kind, "kernel": "computes" if source is KERNEL else "waits for memory",
                "speedup": found.speedup, "low": found.low, "high": found.high, "n": len(found.log_ratios),
                "candidate_us": found.candidate_us, "sd": statistics.stdev(found.log_ratios),
                "seconds": round(time.monotonic() - started, 2), "busy": busy, "quarantined_before": n_quarantined,
                "log_ratios": found.log_ratios,
            }  # fmt: skip
            out.write(json.dumps(line) + "\n")
            out.flush()
            print(
                f"{number + 1:4} {kind:5} {found.speedup:.4f} [{found.low:.4f}, {found.high:.4f}] n={line['n']} "
                f"{found.candidate_us:.0f} us {line['seconds']:.1f} s",
                file=sys.stderr, flush=True,
            )  # fmt: skip
    summary([json.loads(text) for text in options.out.read_text().splitlines()])


def summary(rows: list[dict[str, Any]]) -> None:
    for name in ("computes", "waits for memory", ""):
        chosen = [row for row in rows if row["kind"] == "aa" and row.get("kernel", "computes").startswith(name)]
        better, worse = sum(row["low"] > 1 for row in chosen), sum(row["high"] < 1 for row in chosen)
        share = 100 * (better + worse) / max(len(chosen), 1)
        print(f"A/A, {name or 'both'}: {better} better and {worse} worse of {len(chosen)} = {share:.1f} %")
    power = [row for row in rows if row["kind"] == "power"]
    found = sum(row["low"] > 1 for row in power)
    print(f"true 3 %: found in {found} of {len(power)} = {100 * found / max(len(power), 1):.0f} %", end="")
    print(f", wrong way {sum(row['high'] < 1 for row in power)}", end="")
    print(f", median of the ratios found {statistics.median(row['speedup'] for row in power):.4f}" if power else "")
    seconds, sd = (statistics.median(row[key] for row in rows) for key in ("seconds", "sd"))
    print(f"a comparison took {seconds:.1f} s; standard deviation of one pair's ln-ratio {sd:.3f}")
    print(f"quarantined: {sum(row.get('quarantined_before', 0) for row in rows)} times in {len(rows)} comparisons")


if __name__ == "__main__":
    main()
