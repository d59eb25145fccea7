"""The KernelBench format: a file with `Model`, `get_inputs` and `get_init_inputs`.

Its shapes are only known by running it, which a confined child process does; what comes back is checked here
like any other text from outside, and becomes a native task around the unchanged file.
"""

from __future__ import annotations

import ast
import tempfile
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from kernelevolve.errors import ToolMissingError
from kernelevolve.model.task import FLOAT_DTYPES, DType, Rule, ShapeSets, SourceFile, Task, TensorSpec
from kernelevolve.model.value import Value
from kernelevolve.tasks.child import ask
from kernelevolve.tasks.consistency import default_rule, finished
from kernelevolve.tasks.names import as_argument, as_entry
from kernelevolve.tasks.reading import parse_python, read_text, task_error
from kernelevolve.tasks.source_check import function, import_faults

PROBE = Path(__file__).with_name("kernelbench_probe.py")
SUPPORT = Path(__file__).with_name("kernelbench_support.py")
MAX_SUMMARY = 300
_WIDTHS = (0.1, 1.0, 10.0)
SHIPPED_RULE = Rule(kind="allclose", rtol=1e-4)
"""KernelBench's tolerance for float32."""
_TEMPLATE = '''\
"""Generated from a KernelBench problem: the same operator, its parameters passed in."""

import kernelbench_model
import torch
from kernelbench_support import Problem

VARIANTS = {variants!r}
SCALES = {scales!r}
PROBLEM = Problem(
    kernelbench_model,
    dtypes={dtypes!r},
    parameters={parameters!r},
    buffers={buffers!r},
)


def make_inputs(sizes, rng, variant):
    return PROBLEM.make_inputs(rng, variant)


def reference({names}):
    return PROBLEM.run({call})


def oracle({names}):
    return PROBLEM.{oracle}({call})
'''


class Found(Value):
    """A tensor or number the probe saw."""

    name: str = Field(max_length=500)
    dtype: DType
    shape: tuple[int, ...] = Field(max_length=16)
    number: bool

    @property
    def dims(self) -> tuple[str, ...]:
        return tuple(str(size) for size in self.shape)


class FoundParameter(Found):
    mean: float
    spread: float = Field(ge=0)


class Facts(Value):
    """The probe's answer. `own_error`: the problem's distance from float64 in units of the default rule."""

    arguments: tuple[Found, ...]
    parameters: tuple[FoundParameter, ...]
    buffers: tuple[Found, ...]
    outputs: tuple[Found, ...] = Field(min_length=1)
    variants: tuple[str, ...]
    scales: tuple[float, ...]
    own_error: float | None


class Answer(Value):
    facts: Facts | None = None
    fault: str = ""


@dataclass(frozen=True, kw_only=True)
class KernelBenchSource:
    """`timeout_s` and `memory_bytes` bound the child process, PyTorch included."""

    timeout_s: float = 60.0
    memory_bytes: int = 8 * 2**30
    as_shipped: bool = False
    """The suite's own rule, inputs and initial parameters: to see what they let through."""

    def matches(self, path: Path) -> bool:
        if path.suffix != ".py":
            return False
        tree = parse_python(read_text(path, path.name, []) or "", path.name, [])
        names = {node.name for node in tree.body if isinstance(node, ast.ClassDef | ast.FunctionDef)} if tree else set()
        # A file with one of the two is worth a message about the other one.
        return bool(names & {"Model", "get_inputs"}) and not names & {"make_inputs", "reference"}

    def load(self, path: Path, *, platform: str) -> Task:
        """Raises TaskError, and ToolMissingError without PyTorch."""
        faults: list[str] = []
        source = read_text(path, path.name, faults)
        tree = parse_python(source, path.name, faults) if source is not None else None
        if source is None or tree is None or (faults := _static_faults(tree, path.name)):
            raise task_error(str(path), faults)
        if find_spec("torch") is None:
            raise ToolMissingError("a KernelBench file needs PyTorch: pip install 'kernelevolve[cpu]'")
        facts = self._probe(source, str(path))
        rule, fault = kernelbench_rule(facts)
        if self.as_shipped and rule.kind != "bitwise":
            rule, fault = SHIPPED_RULE, ""
            facts = facts.model_copy(update={"variants": ("shipped",), "scales": ()})
        if fault:
            raise task_error(str(path), [fault])
        return finished(_fields(facts, source, as_entry(path.stem), platform, rule), str(path))

    def _probe(self, source: str, where: str) -> Facts:
        with tempfile.TemporaryDirectory(prefix="kernelevolve-") as name:
            folder = Path(name)
            (folder / "kernelbench_model.py").write_text(source)
            arguments = [str(folder), str(self.memory_bytes), str(self.timeout_s)]
            reply = ask(PROBE, arguments, folder=folder, timeout_s=self.timeout_s)
        if reply.fault:
            raise task_error(where, [reply.fault])
        try:
            answer = Answer.model_validate_json(reply.data, strict=True)
        except ValidationError as error:
            raise task_error(where, ["the file tampered with the process that examines it"]) from error
        if answer.facts is None:
            raise task_error(where, [answer.fault or "no reason given"])
        return answer.facts


def _static_faults(tree: ast.Module, label: str) -> list[str]:
    models = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "Model"]
    faults = import_faults(tree, label, set())
    if not models:
        faults.append(f"{label}: defines no class Model")
    elif not any(isinstance(node, ast.FunctionDef) and node.name == "forward" for node in models[-1].body):
        faults.append(f"{label} line {models[-1].lineno}: class Model defines no forward")
    if function(tree, "get_inputs") is None:
        faults.append(f"{label}: defines no function get_inputs()")
    return faults


def kernelbench_rule(facts: Facts) -> tuple[Rule, str]:
    """The tightest width of the default rule's `rms` of which the problem's own rounding uses a quarter at most;
    a fault when even the widest is too tight. Another order of summation may then be a few times less exact."""
    rule = default_rule([output.dtype for output in facts.outputs])
    if rule.kind == "bitwise" or facts.own_error is None:
        return rule, ""
    for width in _WIDTHS:
        if facts.own_error <= 0.25 * width:
            return rule.model_copy(update={"rms": float(f"{rule.rms * width:.3g}")}), ""
    return rule, "the problem's own answer differs too much from float64 to judge another one by; use tamer inputs"


def _fields(facts: Facts, source: str, name: str, platform: str, rule: Rule) -> dict[str, Any]:
    taken: set[str] = set()
    arguments = [(as_argument(found.name, taken), found) for found in facts.arguments]
    parameters = [(as_argument(f"p_{found.name}", taken), found) for found in facts.parameters]
    buffers = [(as_argument(f"p_{found.name}", taken), found) for found in facts.buffers]
    outputs = [
        (as_argument("out" if len(facts.outputs) == 1 else f"out{index}", taken), found)
        for index, found in enumerate(facts.outputs)
    ]
    state = [*parameters, *buffers]
    floats = [found.dtype for _, found in (*arguments, *state) if found.dtype in FLOAT_DTYPES and found.shape]
    items = [f"{found.name!r}: {_expression(argument, found)}" for argument, found in state]
    passed = "".join(f"{_expression(argument, found)}, " for argument, found in arguments)
    wrapper = _TEMPLATE.format(
        variants=facts.variants,
        scales=facts.scales,
        dtypes={argument: "" if found.number else found.dtype for argument, found in arguments},
        parameters={argument: (found.name, found.mean, found.spread) for argument, found in parameters},
        buffers={argument: found.name for argument, found in buffers},
        names=", ".join(argument for argument, _ in (*arguments, *state)),
        call=f"({passed}), {{{', '.join(items)}}}",
        oracle="run_single" if facts.own_error is None else "run_double",
    )
    return {
        "name": name, "family": name, "entry": name, "platform": platform, "format": "kernelbench", "rule": rule,
        "summary": _summary(source),
        "dtype": floats[0] if floats else "float32",
        "inputs": tuple(
            [TensorSpec(name=argument, dtype=found.dtype, dims=found.dims) for argument, found in arguments]
            + [TensorSpec(name=argument, dtype=found.dtype, dims=found.dims, static=True) for argument, found in state]
        ),
        "outputs": tuple(TensorSpec(name=argument, dtype=f.dtype, dims=f.dims) for argument, f in outputs),
        "shapes": ShapeSets(shown=({},), search=({},), sealed=({},)),
        "files": (
            SourceFile(path="reference.py", text=wrapper),
            SourceFile(path="kernelbench_model.py", text=source),
            SourceFile(path="kernelbench_support.py", text=SUPPORT.read_text()),
        ),
    }  # fmt: skip


def _summary(source: str) -> str:
    """In the author's words, where the class or the file has any."""
    tree = ast.parse(source)
    model = next((node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "Model"), None)
    said = (ast.get_docstring(model) if model else "") or ast.get_docstring(tree) or ""
    first = " ".join(said.split("\n\n")[0].split())[:MAX_SUMMARY]
    return first or "a KernelBench problem with its parameters as inputs"


def _expression(argument: str, found: Found) -> str:
    """How the wrapper hands an input on: a tensor without dims arrives as a number."""
    if found.number:
        return f"bool({argument})" if found.dtype == "bool" else argument
    if found.shape:
        return argument
    return f"torch.tensor({argument}, dtype=torch.{found.dtype})"
