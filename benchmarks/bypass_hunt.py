"""Take the judge's defences away one at a time: which attacks of the corpus get through then?

A defence that nothing needs is not worth its cost. Where another one catches the same attacks, both are taken away:
those pairs are listed in `TOGETHER`. Writes one JSON object per line, appended as it goes.

    python benchmarks/bypass_hunt.py --out docs/results/judge/bypass-hunt.jsonl [--only freeze] [--lane library]
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path

os.environ |= {"OMP_WAIT_POLICY": "PASSIVE", "GOMP_SPINCOUNT": "0"}  # before torch: its threads must not spin

from kernelevolve.evaluation.defences import DEFENCES, Defences
from kernelevolve.evaluation.judge import Judge
from kernelevolve.farm.inline import InlineFarm
from kernelevolve.selftest.campaigns import RULES, Noise, wins
from kernelevolve.selftest.corpus import Entry, attacks, default_root
from kernelevolve.selftest.run import selftest
from kernelevolve.toolchains.cache import default_cache

TOGETHER = {
    "glance": ("freeze",),  # without the stop, what changes after the reply is only seen by the glance
    "poison": ("fresh_content",),
    "physics_floor": ("admission",),
    "serial_reveal": ("freeze",),
    "decoys": ("freeze", "serial_reveal"),
    "variants": ("scales",),
    "edge_shapes": ("listed_variants",),
    "listed_variants": ("edge_shapes",),
    "seccomp": ("namespaces",),
    "namespaces": ("seccomp",),
}
N_CAMPAIGNS = 20


def through(without: tuple[str, ...], entries: list[Entry], n_threads: int) -> list[dict[str, str]]:
    """Attacks that are judged otherwise than they must be."""
    judge = Judge(cache=default_cache(), defences=Defences(without=without))
    try:
        report = selftest(entries, [], InlineFarm(judge.verdict), secret="bypass", n_threads=n_threads)
    finally:
        judge.close()
    return [{"name": item.name, "said": item.said} for item in report.found if not item.right]


def campaigns_through(rule: str, entries: list[Entry]) -> list[dict[str, str]]:
    found = []
    for entry in entries:
        noise = Noise.model_validate(entry.noise)
        won = sum(wins(noise, seed=seed, without=frozenset({rule})) for seed in range(N_CAMPAIGNS))
        if won > 1:
            found.append({"name": entry.name, "said": f"{won} of {N_CAMPAIGNS} campaigns had a winner"})
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("--lane", default="")
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    corpus = [entry for entry in attacks(default_root()) if entry.lane.startswith(options.lane)]
    kernels = [entry for entry in corpus if entry.lane in ("library", "python")]
    options.out.parent.mkdir(parents=True, exist_ok=True)
    for name in [*DEFENCES, *RULES]:
        if options.only not in ("", name):
            continue
        rounds = [(name,)] + ([(name, *TOGETHER[name])] if name in TOGETHER else [])
        for without in rounds:
            started = time.monotonic()
            if name in RULES:
                found = campaigns_through(name, [entry for entry in corpus if entry.lane == "campaign"])
            else:
                found = through(without, kernels, options.threads)
            line = {"without": list(without), "through": found, "seconds": round(time.monotonic() - started, 1)}
            with options.out.open("a") as out:
                out.write(json.dumps(line) + "\n")
            print(f"{' + '.join(without)}: {len(found)} through", file=sys.stderr, flush=True)
            if found:
                break


if __name__ == "__main__":
    main()
