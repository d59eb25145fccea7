"""Every attack of the corpus before the naive harness: an attack that fools nobody proves nothing when it is caught.

python benchmarks/naive_harness.py --out docs/results/judge/naive.jsonl
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from kernelevolve.selftest.corpus import LANGUAGE, attacks, default_root  # noqa: E402
from tests.attacks.naive.__main__ import fooled  # noqa: E402

N_TRIES = 3
"""The naive harness is noisy: a timing cheat may need another try."""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    options.out.parent.mkdir(parents=True, exist_ok=True)
    n_fooled, n_all = 0, 0
    with options.out.open("w") as out:
        for entry in attacks(default_root()):
            if entry.lane not in (*LANGUAGE, "campaign") or not entry.name.startswith(options.only):
                continue
            for n_tries in range(1, N_TRIES + 1):  # noqa: B007 - written below
                ok, text = fooled(entry)
                if ok:
                    break
            n_fooled, n_all = n_fooled + ok, n_all + 1
            line = {"name": entry.name, "row": entry.row, "fooled": ok, "tries": n_tries, "said": text[:300]}
            out.write(json.dumps(line) + "\n")
            out.flush()
            print(f"{'fooled    ' if ok else 'NOT FOOLED'} {entry.name}", file=sys.stderr, flush=True)
    print(f"{n_fooled} of {n_all} attacks fool the naive harness")


if __name__ == "__main__":
    main()
