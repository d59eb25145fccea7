"""Packages of GPU kernels: complete without a compiler, launched as their plan says, honest where there is no GPU."""

from __future__ import annotations

import contextlib
import ctypes
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from package_samples import campaign, imported
from torch._subclasses import FakeTensorMode

from kernelevolve.errors import UsageError
from kernelevolve.interfaces.export.write import export_package
from kernelevolve.toolchains.nvrtc import find_nvrtc

pytestmark = pytest.mark.skipif(find_nvrtc() is None, reason="needs NVRTC: pip install nvidia-cuda-nvrtc")
HERE = Path(__file__).parent
STREAM = 0x7F00_1234_5678


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = tmp_path_factory.mktemp("cuda_package")
    export_package([campaign("", cuda=True), campaign("C=64", cuda=True)], base / "p", cache=base / "cache")
    return base / "p"


@pytest.fixture(scope="module")
def package(folder: Path) -> ModuleType:
    return imported(folder)


def inputs(rows: int, columns: int, device: str = "cpu") -> tuple[Any, ...]:
    generator = torch.Generator().manual_seed(rows + columns)
    x, state = torch.randn(rows, columns, generator=generator), torch.randn(rows, generator=generator)
    return x.to(device), state.to(device), 3, 0.5


def test_machine_code_plan_and_sources_are_in_the_package(folder: Path) -> None:
    for key in ("C64", "any"):
        names = {path.name for path in (folder / "kernels" / key).iterdir()}
        assert {"kernel.cu", "launch.toml", "plan.json", "evidence.json"} <= names
        plan = json.loads((folder / "kernels" / key / "plan.json").read_text())
        assert [kernel["function"] for kernel in plan["kernels"]] == ["row_sums", "finish"]
        assert plan["architecture"] == "sm_90a"
        for kernel in plan["kernels"]:
            assert (folder / "kernels" / key / kernel["cubin"]).read_bytes().startswith(b"\x7fELF")


def test_a_single_kernel_lies_beside_the_module_and_can_be_judged_again(tmp_path: Path) -> None:
    from kernelevolve.interfaces.cli.candidates import read_candidate

    found = campaign(cuda=True)
    export_package([found], tmp_path / "p", cache=tmp_path / "cache")
    again = read_candidate(tmp_path / "p")
    assert (again.language, again.id) == ("cuda", found.rows[1].candidate.id)


def test_without_a_gpu_the_reference_serves_and_says_so(package: ModuleType) -> None:
    given, kept = inputs(8, 64), inputs(8, 64)
    torch.testing.assert_close(package.row_mix(*given), package.OPERATOR.by_reference(kept, ()))
    assert package.last_path() == "reference: x is on cpu"


def test_its_own_check_says_that_nothing_was_checked(folder: Path) -> None:
    if torch.cuda.is_available():
        pytest.skip("there is a GPU here")
    done = subprocess.run(
        [sys.executable, "test_row_mix.py"], cwd=folder, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.startswith("not checked: torch sees no CUDA device")


def test_stand_ins_for_gpu_tensors_are_traced_without_a_gpu(package: ModuleType) -> None:
    with FakeTensorMode():
        x, state = torch.empty(8, 64, device="cuda"), torch.empty(8, device="cuda")
        out = package.row_mix(x, state, 3, 0.5)
        assert (tuple(out.shape), out.dtype, out.device.type) == ((8, 64), torch.float32, "cuda")
        wide = package.row_mix(x.double(), state.double(), 3, 0.5)  # the reference's business, and its dtype
        assert wide.dtype == torch.float64


def test_a_kernel_measured_on_another_chip_is_not_exported(tmp_path: Path) -> None:
    from dataclasses import replace

    found = campaign(cuda=True)
    facts = found.opened.facts.model_copy(update={"isa": ("sm_80",)})
    other = replace(found, opened=found.opened.model_copy(update={"facts": facts}))
    with pytest.raises(UsageError, match="measured on sm_80 and would be compiled for sm_90a"):
        export_package([other], tmp_path / "p", cache=tmp_path / "cache")


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("driver") / "libfakecuda.so"
    command = ["gcc", "-shared", "-fPIC", "-w", str(HERE / "fake_libcuda.c"), "-o", str(target)]
    subprocess.run(command, check=True, timeout=60)
    return target


class FakeMachine:
    """torch's part of a machine, for tensors that lie on the host."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def current_device(self) -> None:
        return None

    @contextlib.contextmanager
    def on_device(self, device: Any) -> Iterator[None]:
        yield

    def stream(self, device: Any) -> int:
        return STREAM


class Bench:
    """The package's launcher on a driver that runs the kernels on the host."""

    def __init__(self, package: ModuleType, folder: Path, library: Path) -> None:
        self.cuda = package._runtime("cuda")
        self.unfit = package._runtime("sizes").Unfit
        self.control = ctypes.CDLL(str(library))
        self.control.fake_stream.restype = ctypes.c_uint64
        self.control.fake_failure(-1, 0)
        self.machine = FakeMachine(package._runtime("driver").Driver(str(library)))
        self.spec = package.SPEC
        self.plan_data = json.loads((folder / "kernels/any/plan.json").read_text())
        self.modules = package._runtime("driver").Modules(folder / "kernels/any", self.plan_data["kernels"])

    def plan(self, given: tuple[Any, ...]) -> Any:
        tensors = list(given[:2])
        sizes = dict(zip("RC", given[0].shape, strict=True))
        steps = self.cuda.resolve(self.plan_data, self.spec, sizes)
        functions = self.modules.functions(self.machine.driver, 0)
        return self.cuda.CudaPlan(self.spec, steps, functions, tensors, sizes, machine=self.machine)


@pytest.fixture
def bench(package: ModuleType, folder: Path, library: Path) -> Bench:
    return Bench(package, folder, library)


def test_launches_get_addresses_numbers_and_torchs_stream(bench: Bench, package: ModuleType) -> None:
    plan = bench.plan(inputs(300, 100))
    for seed in (1, 2, 3):  # other memory and other scalars every time, one plan
        given, kept = inputs(300, 100), inputs(300, 100)
        given, kept = (*given[:2], seed, 0.25 * seed), (*kept[:2], seed, 0.25 * seed)
        wanted = package.OPERATOR.by_reference(kept, ())
        got = plan.call(given, list(given[:2]))
        torch.testing.assert_close(got, wanted, rtol=1e-5, atol=1e-4)
        torch.testing.assert_close(given[1], kept[1], rtol=1e-5, atol=1e-4)
    assert bench.control.fake_stream() == STREAM
    assert bench.control.fake_grid() == 301
    assert bench.control.fake_loads() == 1


def test_an_empty_tensor_is_launched_too(bench: Bench) -> None:
    given = inputs(0, 7)
    assert tuple(bench.plan(given).call(given, list(given[:2])).shape) == (0, 7)


def test_a_launch_that_is_refused_before_anything_ran_goes_to_the_reference(bench: Bench) -> None:
    given = inputs(8, 64)
    plan = bench.plan(given)
    bench.control.fake_failure(0, 701)
    with pytest.raises(bench.unfit, match="refused the launch: CUDA_ERROR_MADE_UP"):
        plan.call(given, list(given[:2]))
    for at, code in ((1, 701), (0, 719)):  # half done, or an earlier kernel's crash: no reference can mend that
        bench.control.fake_failure(at, code)
        with pytest.raises(RuntimeError, match=f"launch {at + 1} failed"):
            plan.call(given, list(given[:2]))


def test_machine_code_that_does_not_load_is_tried_once(bench: Bench, package: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "broken.cubin").write_bytes(b"nothing")
    modules = package._runtime("driver").Modules(tmp_path, [{"cubin": "broken.cubin", "function": "row_sums"}])
    for _ in range(2):
        with pytest.raises(bench.unfit, match="does not load"):
            modules.functions(bench.machine.driver, 0)
        (tmp_path / "broken.cubin").unlink(missing_ok=True)


@pytest.mark.parametrize(
    ("change", "needle"),
    [
        ({"grid": ["R - 9", "1", "1"]}, r"'R - 9' is -1, must be 1\.\."),
        ({"grid": ["R/0", "1", "1"]}, "'R/0'"),
        ({"grid": ["Q", "1", "1"]}, "'Q'"),
        ({"shared_bytes": "2**9"}, "no expression"),
        ({"args": [{"what": "R", "width": "i32", "multiple": 16}]}, "R is 8, the kernel takes multiples of 16"),
    ],
)
def test_what_a_plan_cannot_mean_at_these_sizes(bench: Bench, change: dict[str, Any], needle: str) -> None:
    first, *others = bench.plan_data["launches"]
    plan = {**bench.plan_data, "launches": [{**first, **change}, *others]}
    with pytest.raises(bench.unfit, match=needle):
        bench.cuda.resolve(plan, bench.spec, {"R": 8, "C": 64})


def test_parameters_that_a_compiler_adds_are_plain_numbers(bench: Bench) -> None:
    """Triton's kernels end in pointers of their own; its plans give 0 for them."""
    first, *others = bench.plan_data["launches"]
    added = [{"what": "0", "width": "", "multiple": 1}] * 2
    plan = {**bench.plan_data, "launches": [{**first, "args": [*first["args"], *added]}, *others]}
    steps = bench.cuda.resolve(plan, bench.spec, {"R": 8, "C": 64})
    assert [argument[:2] for argument in steps.launches[0]["args"][-2:]] == [("number", 0), ("number", 0)]
    functions = bench.modules.functions(bench.machine.driver, 0)
    given = inputs(8, 64)
    with pytest.raises(bench.unfit, match="takes 4 parameters, its plan has 6"):
        bench.cuda.CudaPlan(bench.spec, steps, functions, list(given[:2]), {"R": 8, "C": 64}, machine=bench.machine)


def test_a_resolved_plan_has_no_names_left(bench: Bench) -> None:
    steps = bench.cuda.resolve(bench.plan_data, bench.spec, {"R": 300, "C": 64})
    assert steps.scratch == [3, 1204]
    first = steps.launches[0]
    assert (first["grid"], first["block"], first["shared"]) == ([4, 1, 1], [128, 1, 1], 0)
    # tensors x, state, out are 0, 1, 2; scratch follows
    assert [argument[:2] for argument in first["args"]] == [
        ("pointer", 0),
        ("pointer", 4),
        ("number", 300),
        ("number", 64),
    ]
    assert [argument[:2] for argument in steps.launches[1]["args"]][4:6] == [("whole", 2), ("real", 3)]


needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


@pytest.mark.device
@needs_gpu
def test_on_a_gpu_the_packages_own_check_passes(folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "test_row_mix.py"], cwd=folder, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert "right: the kernel equals the reference" in done.stdout


@pytest.mark.device
@needs_gpu
def test_on_a_gpu_a_captured_graph_replays_the_kernel(package: ModuleType) -> None:
    x, state, *scalars = inputs(300, 64, "cuda")
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        package.row_mix(x, state, *scalars)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = package.row_mix(x, state, *scalars)
    assert package.last_served() == "C64"
    new_x, new_state, *_ = inputs(300, 64, "cuda")
    x.copy_(new_x * 2)
    state.copy_(new_state)
    graph.replay()
    torch.cuda.synchronize()
    kept = new_state.clone()
    torch.testing.assert_close(
        out, package.OPERATOR.by_reference((new_x * 2, kept, *scalars), ()), rtol=1e-4, atol=1e-3
    )
    torch.testing.assert_close(state, kept, rtol=1e-4, atol=1e-3)


@pytest.mark.device
@needs_gpu
def test_on_a_gpu_the_first_call_may_be_inside_a_capture(folder: Path) -> None:
    fresh = imported(folder)
    x, state, *scalars = inputs(300, 100, "cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = fresh.row_mix(x, state, *scalars)
    assert fresh.last_path() == "kernel"
    kept = state.clone()
    graph.replay()
    torch.testing.assert_close(out, fresh.OPERATOR.by_reference((x, kept, *scalars), ()), rtol=1e-4, atol=1e-3)


@pytest.mark.device
@needs_gpu
def test_on_a_gpu_inductor_calls_the_kernel_also_from_other_threads(package: ModuleType) -> None:
    import threading

    made = torch.compile(lambda x, state: package.row_mix(x * 2, state, 3, 0.5).relu(), fullgraph=True)
    failures: list[str] = []

    def work() -> None:
        x, state, *_ = inputs(300, 64, "cuda")
        kept = state.clone()
        wanted = package.OPERATOR.by_reference((x * 2, kept, 3, 0.5), ()).relu()
        got = package.row_mix(x * 2, state, 3, 0.5).relu()
        if package.last_path() != "kernel" or not torch.allclose(got, wanted, rtol=1e-4, atol=1e-3):
            failures.append(package.last_path())

    x, state, *_ = inputs(300, 64, "cuda")
    wanted = package.OPERATOR.by_reference((x * 2, state.clone(), 3, 0.5), ()).relu()
    torch.testing.assert_close(made(x, state), wanted, rtol=1e-4, atol=1e-3)
    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
