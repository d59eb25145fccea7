"""Several winners as one package on the CPU: who serves what, what is counted, what a tracer sees."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from package_samples import TASK, campaign, imported
from torch._subclasses import FakeTensorMode

from kernelevolve.errors import UsageError
from kernelevolve.interfaces.export.package import serving, winners
from kernelevolve.interfaces.export.write import export_package
from kernelevolve.model.task import Rule, SourceFile

PATHS = ("", "C=64", "R<=40,C=64", "R=8")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("package") / "row_mix"
    export_package([campaign(where) for where in PATHS], found)
    return found


@pytest.fixture(scope="module")
def package(folder: Path) -> ModuleType:
    return imported(folder)


def inputs(rows: int, columns: int, **options: Any) -> tuple[Any, ...]:
    generator = torch.Generator().manual_seed(rows + columns)
    x = torch.randn(rows, columns, generator=generator)
    return x, torch.randn(rows, generator=generator), 3, 0.5


def right(package: ModuleType, given: tuple[Any, ...]) -> torch.Tensor:
    """Call with these inputs, compare everything written with the reference; returns the output."""
    copies = tuple(one.clone() if isinstance(one, torch.Tensor) else one for one in given)
    wanted = package.OPERATOR.by_reference(copies, ())
    got = package.row_mix(*given)
    torch.testing.assert_close(got, wanted, rtol=1e-5, atol=1e-4)
    torch.testing.assert_close(given[1], copies[1], rtol=1e-5, atol=1e-4)
    return got  # type: ignore[no-any-return]


def test_the_smallest_domain_is_asked_first() -> None:
    found = winners([campaign(where) for where in PATHS])
    assert [winner.key for winner in found] == ["R_to_40_C64", "R8", "C64", "any"]
    shapes = ({"R": 8, "C": 64}, {"R": 8, "C": 65}, {"R": 41, "C": 64}, {"R": 41, "C": 65}, {"R": 5000, "C": 1})
    assert [serving(found, shape) for shape in shapes] == ["R_to_40_C64", "R8", "C64", "any", ""]


@pytest.mark.parametrize(
    ("rows", "columns", "key"),
    [(8, 64, "R_to_40_C64"), (8, 1024, "R8"), (40, 64, "R_to_40_C64"), (0, 64, "R_to_40_C64"), (41, 64, "C64"),
     (300, 1, "any"), (0, 7, "any"), (4097, 64, "reference"), (3, 1025, "reference")],
)  # fmt: skip
def test_exact_rules_decide_who_serves(package: ModuleType, rows: int, columns: int, key: str) -> None:
    right(package, inputs(rows, columns))
    assert package.last_served() == key
    assert package.last_path() == "kernel" if key != "reference" else package.last_path().startswith("reference: ")


def test_its_own_check_passes_where_kernelevolve_is_not(folder: Path) -> None:
    run = "import runpy; runpy.run_path('test_row_mix.py', run_name='__main__')"
    code = f"import sys; sys.modules['kernelevolve'] = None; {run}"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert "right: the kernel equals the reference" in done.stdout


def test_every_call_is_counted_for_who_served_it(package: ModuleType) -> None:
    def counts() -> dict[str, int]:
        told = package.attestation()
        return {key: one["calls"] for key, one in told["kernels"].items()} | {"reference": told["fallback"]["calls"]}

    before = counts()
    per_thread, n_threads = 50, 4

    def work() -> None:
        for _ in range(per_thread):
            package.row_mix(*inputs(8, 64))
            package.row_mix(*inputs(8, 64)[:3], torch.tensor(0.5).item())
        package.row_mix(*inputs(5000, 2))
        seen.append(package.last_served())

    seen: list[str] = []
    threads = [threading.Thread(target=work) for _ in range(n_threads)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    after = counts()
    assert after["R_to_40_C64"] - before["R_to_40_C64"] == 2 * per_thread * n_threads
    assert after["reference"] - before["reference"] == n_threads
    assert after["C64"] == before["C64"]
    assert seen == ["reference"] * n_threads
    ids = {key: one["candidate_id"] for key, one in package.attestation()["kernels"].items()}
    assert ids["any"] == campaign().rows[1].candidate.id


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda x, state: (x.double(), state), "x is float64"),
        (lambda x, state: (torch.randn(100, 8).t(), state), "x is not contiguous"),
        (lambda x, state: (torch.randn(801)[1:].view(8, 100), state), "x is not aligned to 64 bytes"),
        (lambda x, state: (x.to_sparse().to_dense(), x[:, 0].contiguous().view(8)), "kernel"),
        (lambda x, state: (x, x.view(-1)[:8]), "state and x share memory"),
        (lambda x, state: (torch.nn.Parameter(x), state), "x requires a gradient"),
        (lambda x, state: (torch.nn.Parameter(x, requires_grad=False), state), "kernel"),
        (lambda x, state: (x[:, :64].contiguous(), state), "kernel"),
    ],
)
def test_what_the_kernels_were_not_promised_goes_to_the_reference(
    package: ModuleType, change: Any, reason: str
) -> None:
    x, state, *scalars = inputs(8, 100)
    x, state = change(x, state)
    package.row_mix(x, state, *scalars)
    assert package.last_path().removeprefix("reference: ").startswith(reason)


def test_a_package_may_be_imported_twice(folder: Path, package: ModuleType) -> None:
    for module in (imported(folder), package):
        right(module, inputs(8, 100))
        assert module.last_served() == "R8"
        module.OPERATOR.traced(*inputs(8, 100))


def test_under_no_grad_a_parameter_is_served(package: ModuleType) -> None:
    x, *rest = inputs(8, 100)
    with torch.no_grad():
        package.row_mix(torch.nn.Parameter(x), *rest)
    assert package.last_path() == "kernel"


class Tagged(torch.Tensor):
    pass


def test_other_kinds_of_tensors_keep_their_own_behaviour(package: ModuleType) -> None:
    x, *rest = inputs(8, 100)
    got = package.row_mix(x.as_subclass(Tagged), *rest)
    assert isinstance(got, Tagged)
    assert package.last_path() == "reference: x is a Tagged"


def test_only_the_measured_shapes_and_never_the_slower_ones(tmp_path: Path) -> None:
    slow = {"R": 40, "C": 64}
    export_package([campaign("C=64"), campaign(slower=(slow,))], tmp_path / "p", only_measured=True)
    package = imported(tmp_path / "p")
    for shape, key in (
        ((300, 64), "C64"),
        ((40, 64), "C64"),
        ((41, 64), "reference"),
        ((8, 7), "any"),
        ((9, 7), "reference"),
    ):
        right(package, inputs(*shape))
        assert package.last_served() == key
    export_package([campaign(slower=(slow,))], tmp_path / "q")
    package = imported(tmp_path / "q")
    right(package, inputs(40, 64))
    assert package.last_path() == "reference: the kernel was measured to be slower at this shape"
    right(package, inputs(41, 64))
    assert package.last_path() == "kernel"


def test_a_function_of_the_callers_choice_serves_the_rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own_vendor.py").write_text("def mix(x, state, shift, factor):\n    return x * 0 + 7\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    export_package([campaign("R=8")], tmp_path / "p", fallback="own_vendor:mix")
    package = imported(tmp_path / "p")
    assert bool((package.row_mix(*inputs(9, 64)) == 7).all())
    assert package.last_path().startswith("own_vendor:mix: R=9 is outside")
    right(package, inputs(8, 64))
    export_package([campaign("R=8")], tmp_path / "q", fallback="not_installed_here:mix")
    right(imported(tmp_path / "q"), inputs(9, 64))
    with pytest.raises(UsageError, match="neither module:function nor"):
        export_package([campaign("R=8")], tmp_path / "r", fallback="import os;")


def test_a_baseline_of_the_task_serves_the_rest(tmp_path: Path) -> None:
    arms = (
        "def half(x, state, shift, factor):\n    return x.unsqueeze(1) / 2\n"  # as other libraries' shapes may be
        "def absent(x, state, shift, factor):\n    import not_installed_here\n"
        'ARMS = {"half": half, "absent": absent}\n'
    )
    task = TASK.model_copy(update={"files": (*TASK.files, SourceFile(path="baselines.py", text=arms))})
    export_package([campaign("R=8", task=task)], tmp_path / "p", fallback="half")
    package = imported(tmp_path / "p")
    x, *rest = inputs(9, 64)
    assert torch.equal(package.row_mix(x, *rest), x / 2)
    assert package.last_path().startswith("half: R=9 is outside")
    export_package([campaign("R=8", task=task)], tmp_path / "q", fallback="absent")
    package = imported(tmp_path / "q")
    right(package, inputs(9, 64))
    assert package.last_path().startswith("reference: R=9 is outside")
    with pytest.raises(UsageError, match="brings no baseline 'third'"):
        export_package([campaign("R=8", task=task)], tmp_path / "r", fallback="third")


def test_the_evidence_of_every_kernel_is_in_the_package(folder: Path) -> None:
    whole = json.loads((folder / "evidence.json").read_text())
    assert whole["schema"] == "kernelevolve.package/1"
    assert [kernel["where"] for kernel in whole["kernels"]] == ["R<=40,C=64", "R=8", "C=64", ""]
    for kernel in whole["kernels"]:
        own = json.loads((folder / kernel["evidence"]).read_text())
        assert own["candidate_id"] == kernel["candidate_id"]
        assert own["task"].get("where", "") == kernel["where"]
        assert own["verdicts"]["search"]["timing"]["shapes"]


def test_what_does_not_belong_together_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="for the same shapes"):
        export_package([campaign(name="a"), campaign(name="b")], tmp_path / "p")
    other = TASK.model_copy(update={"rule": Rule(kind="scaled", rtol=1e-3)})
    with pytest.raises(UsageError, match=r"different operators \(rule"):
        export_package([campaign("R=8"), campaign(task=other)], tmp_path / "p")
    with pytest.raises(UsageError, match=r"different operators \(platform"):
        export_package([campaign("R=8"), campaign(cuda=True)], tmp_path / "p")
    assert not (tmp_path / "p").exists()


def test_compiled_code_holds_one_operator_and_updates_in_place(package: ModuleType) -> None:
    graphs: list[torch.fx.GraphModule] = []

    def backend(graph: torch.fx.GraphModule, example: Any) -> Any:
        graphs.append(graph)
        return graph.forward

    def step(x: torch.Tensor, state: torch.Tensor) -> torch.Tensor:
        return package.row_mix(x * 2, state, 3, 0.5).relu()  # type: ignore[no-any-return]

    for made in (torch.compile(step, backend=backend, fullgraph=True), torch.compile(step, backend="aot_eager")):
        torch._dynamo.reset()
        x, state, *_ = inputs(8, 100)
        kept = state.clone()
        wanted = package.OPERATOR.by_reference((x * 2, kept, 3, 0.5), ()).relu()
        torch.testing.assert_close(made(x, state), wanted, rtol=1e-5, atol=1e-4)
        torch.testing.assert_close(state, kept, rtol=1e-5, atol=1e-4)
        assert package.last_served() == "R8"
    targets = [str(node.target) for graph in graphs for node in graph.graph.nodes]
    assert any("kernelevolve_exports.row_mix" in target for target in targets)


def test_compiled_code_for_other_types_is_the_reference(package: ModuleType) -> None:
    torch._dynamo.reset()
    made = torch.compile(package.row_mix, backend="eager", fullgraph=True)
    before = package.attestation()
    x, state, *scalars = inputs(8, 100)
    wanted = package.OPERATOR.by_reference((x.double(), state.double(), *scalars), ())
    torch.testing.assert_close(made(x.double(), state.double(), *scalars), wanted)
    assert package.attestation() == before


def test_stand_in_tensors_learn_the_shapes(package: ModuleType) -> None:
    with FakeTensorMode():
        out = package.row_mix(torch.empty(8, 100), torch.empty(8), 3, 0.5)
        assert (tuple(out.shape), out.dtype) == ((8, 100), torch.float32)
    x, state, *scalars = inputs(8, 100)
    graph = torch.fx.experimental.proxy_tensor.make_fx(
        lambda x, state: package.row_mix(x, state, 3, 0.5), tracing_mode="symbolic"
    )(x, state)
    for shape in ((8, 100), (41, 64), (5000, 3)):
        x, state, *scalars = inputs(*shape)
        kept = state.clone()
        wanted = package.OPERATOR.by_reference((x, kept, *scalars), ())
        torch.testing.assert_close(graph(x, state), wanted, rtol=1e-5, atol=1e-4)
        torch.testing.assert_close(state, kept, rtol=1e-5, atol=1e-4)


def test_torch_finds_nothing_wrong_with_the_operator(package: ModuleType) -> None:
    for shape in ((8, 100), (5000, 3)):
        torch.library.opcheck(package.OPERATOR.traced, inputs(*shape))
