"""Measures which controls pass as an answer to each problem in void/ and clean/, and prints the tables of README.md.

A control ignores what the problem computes: zeros, one constant (the better of mean and median), the answer for
another input draw with the same weights, or an input itself where its shape fits. Figures are
max |error| / (1e-4 + 1e-4 |answer|): a control passes KernelBench's tolerance at 1 or less. The worst seed decides:
the largest figure for void/, the smallest for clean/.

Run it with PyTorch installed: `python tests/admission/kernelbench/measure.py`. It exits with 1 when a problem is in
the wrong folder.
"""

from __future__ import annotations

import ast
import sys
import time
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import torch

HERE = Path(__file__).parent
TOLERANCE = 1e-4
RELATIVE = 1e-3
MARGIN = 20.0
"""How far outside both rules every control must be for a problem to count as clean."""
SEEDS = [(weights, inputs) for weights in (0, 1) for inputs in (10, 11)]
OTHER = 100
SCALES = (1.0, 3.0, 0.01, -1.0)
CONTROLS = ("zeros", "constant", "other draw", "identity")


def load(path: Path) -> ModuleType:
    spec = spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def drawn(problem: ModuleType, seed: int, scale: float) -> list[torch.Tensor]:
    torch.manual_seed(seed)
    return [value * scale if value.is_floating_point() else value for value in problem.get_inputs()]


def controls(model: torch.nn.Module, answer: torch.Tensor, inputs: list, others: list) -> dict[str, list[torch.Tensor]]:
    wide = answer.double()
    return {
        "zeros": [torch.zeros(())],
        "constant": [wide.mean(), wide.median()],
        "other draw": [model(*others)],
        "identity": [value for value in inputs if value.shape == answer.shape],
    }


def allclose_ratio(control: torch.Tensor, answer: torch.Tensor) -> float:
    answer = answer.double()
    return float(((control.double() - answer).abs() / (TOLERANCE + TOLERANCE * answer.abs())).max())


def relative_ratio(control: torch.Tensor, answer: torch.Tensor) -> float:
    """In units of what the stricter rule allows: |error| <= 1e-3 RMS(answer - mean(answer))."""
    answer = answer.double()
    return float((control.double() - answer).abs().max() / (RELATIVE * answer.std(correction=0)))


def measured(problem: ModuleType, scale: float, rule) -> list[dict[str, float]]:
    """One dictionary per seed: control -> figure of the closest variant of it."""
    figures = []
    for weights, draw in SEEDS:
        torch.manual_seed(weights)
        model = problem.Model(*problem.get_init_inputs())
        inputs, others = drawn(problem, draw, scale), drawn(problem, draw + OTHER, scale)
        answer = model(*inputs)
        assert bool(torch.isfinite(answer).all())
        tried = controls(model, answer, inputs, others)
        figures.append({name: min(rule(one, answer) for one in some) for name, some in tried.items() if some})
    return figures


def milliseconds(problem: ModuleType) -> float:
    model, inputs = problem.Model(*problem.get_init_inputs()), problem.get_inputs()
    model(*inputs)
    start = time.perf_counter()
    model(*inputs)
    return (time.perf_counter() - start) * 1e3


def number(path: Path) -> str:
    level, problem = path.stem.split("_")[:2]
    return f"{level[1:]}/{int(problem)}"


def reduced(path: Path) -> str:
    """What the end of a problem's docstring says about it."""
    text = ast.get_docstring(ast.parse(path.read_text())) or ""
    return " ".join(text.partition("Reduced: ")[2].split()).removesuffix(".")


def shown(value: float | None) -> str:
    return "" if value is None else f"{value:.2g}" if value < 100 else f"{value:.0f}" if value < 1e5 else f"{value:.0e}"


def void_row(path: Path) -> tuple[str, str]:
    seeds = measured(load(path), 1.0, allclose_ratio)
    worst = {name: max(figures[name] for figures in seeds) for name in CONTROLS[:3]}
    fault = "" if min(worst.values()) <= 1 else "no control passes on every seed"
    cells = [f"**{shown(value)}**" if value <= 1 else shown(value) for value in worst.values()]
    return " | ".join(["", path.name, number(path), reduced(path), *cells, ""]).strip(), fault


def clean_row(path: Path) -> tuple[str, str]:
    problem = load(path)
    plain = {scale: measured(problem, scale, allclose_ratio) for scale in SCALES if scale != 0.01}
    strict = [figures for scale in SCALES for figures in measured(problem, scale, relative_ratio)]
    nearest = {name: min((f[name] for f in plain[1.0] if name in f), default=None) for name in CONTROLS}
    everywhere = min(value for seeds in plain.values() for figures in seeds for value in figures.values())
    relative = min(value for figures in strict for value in figures.values())
    fault = "" if min(everywhere, relative) >= MARGIN else f"a control comes within {shown(min(everywhere, relative))}"
    cells = [shown(value) for value in (*nearest.values(), everywhere, relative)]
    return " | ".join(["", path.name, number(path), reduced(path), *cells, ""]).strip(), fault


def main() -> int:
    failed = False
    tables = {
        "void": (void_row, ("zeros", "constant", "other draw")),
        "clean": (clean_row, (*CONTROLS, "x1 x3 x-1", "relative")),
    }
    for folder, (row, columns) in tables.items():
        heads = ("file", "problem", "reduced", *columns)
        print(f"\n## {folder}\n\n| {' | '.join(heads)} |\n|{'---|' * len(heads)}")
        for path in sorted((HERE / folder).glob("*.py")):
            line, fault = row(path)
            print(line, flush=True)
            slow = milliseconds(load(path))
            if fault or slow > 60:
                print(f"{path.name}: {fault or 'fine'}, {slow:.0f} ms", file=sys.stderr)
            failed |= bool(fault)
    return int(failed)


if __name__ == "__main__":
    with torch.no_grad():
        sys.exit(main())
