"""How many attacks and honest kernels there are is said in one place, and is the corpus' own count."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from kernelevolve.selftest.corpus import attacks, honest

ROOT = Path(__file__).parents[2]
LANES = {
    "library": "C++ library, on a CPU",
    "python": "Python module, on a CPU",
    "campaign": "whole campaign",
    "cuda": "CUDA, on a GPU",
    "triton": "Triton, on a GPU",
    "cuda_python": "Python module, on a GPU",
}


def test_the_page_counts_the_corpus() -> None:
    found = [Counter(entry.lane for entry in read(ROOT / "tests")) for read in (attacks, honest)]
    assert set().union(*found) <= set(LANES)
    wanted = "".join(f"| {name} | {found[0][lane]} | {found[1][lane]} |\n" for lane, name in LANES.items())
    page = (ROOT / "docs" / "trust.md").read_text()
    table = page.partition("<!-- corpus: begin -->\n")[2].partition("<!-- corpus: end -->")[0]
    assert "".join(table.splitlines(keepends=True)[2:]) == wanted, f"docs/trust.md, between the marks:\n{wanted}"
