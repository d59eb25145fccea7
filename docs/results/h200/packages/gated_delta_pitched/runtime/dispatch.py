"""Which kernel serves a call: exact rules over dtypes, devices and shapes, and the PyTorch reference for the rest."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import itertools
import math
import sys
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

import torch

from .cpp import CppKernel
from .cuda import CudaKernel
from .python import PythonKernel
from .sizes import Dims, Expression, Rule, Unfit, pitch

MAX_PLANS = 1024
"""Shapes remembered per thread."""
BACKENDS: dict[str, Callable[..., Kernel]] = {"cpp": CppKernel, "cubin": CudaKernel, "python": PythonKernel}
_N_MODES: Callable[[], int] = getattr(torch._C, "_len_torch_dispatch_stack", lambda: 0)
_PLAIN = (torch.Tensor, torch.nn.Parameter)


class Plan(Protocol):
    """A kernel made ready for one set of shapes, in one thread. Raises Unfit before anything was done."""

    def call(self, inputs: Sequence[Any], tensors: Sequence[Any]) -> Any: ...


class Kernel(Protocol):
    def plan(self, tensors: Sequence[Any], sizes: Mapping[str, int]) -> Plan:
        """Raises Unfit when this machine cannot run it."""
        ...


class Served:
    """One kernel of the package, with its rule and how often it served."""

    def __init__(self, spec: Mapping[str, Any], data: Mapping[str, Any], folder: Path) -> None:
        self.key: str = data["key"]
        self.candidate_id: str = data["candidate_id"]
        self.rule = Rule(data["rule"])
        self.kernel = BACKENDS[data["backend"]](spec, data, folder)
        self._ticks = itertools.count(1)
        self.calls = 0

    def count(self) -> None:
        self.calls = next(self._ticks)  # a single step, so that no thread's call is lost


class _Thread(threading.local):
    def __init__(self) -> None:
        self.plans: dict[Any, tuple[Plan, Served] | str] = {}
        self.served = ""
        self.reason = "nothing was called yet"


class Operator:
    """`spec` is what the exporter wrote; `folder` holds the kernels and the reference."""

    def __init__(self, spec: Mapping[str, Any], folder: Path) -> None:
        self.spec = spec
        self.folder = folder
        self._at = [index for index, value in enumerate(spec["inputs"]) if not value["scalar"]]
        self._tensors = [spec["inputs"][index] for index in self._at]
        self._dims = Dims(self._tensors)
        self._output_dims = [[Expression(dim) for dim in one["dims"]] for one in spec["outputs"]]
        self._given = tuple(spec["free"])
        self._kernels = [Served(spec, data, folder) for data in spec["kernels"]]
        self.reference_module = _module(f"{spec['name']}_reference", folder / spec["reference"])
        self._vendor = self._found_vendor(folder)
        self._fallbacks = itertools.count(1)
        self._n_fallbacks = 0
        self._thread = _Thread()
        self._probe = _probe(self._at, {index for index in self._at if "pitch" in spec["inputs"][index]})
        self._depends = any(axis["role"] == "output" for axis in spec["axes"])
        self.traced: Callable[..., Any] | None = None

    def serve(self, inputs: tuple[Any, ...], given: tuple[Any, ...]) -> Any:
        """A call from Python: inputs in declared order, then the axes that no input tells."""
        if _N_MODES() and self.traced is not None:
            return self.traced(*inputs, **dict(zip(self._given, given, strict=True)))
        return self.run(inputs, given)

    def run(self, inputs: tuple[Any, ...], given: tuple[Any, ...]) -> Any:
        try:
            probed = self._probe(inputs)
        except (AttributeError, RuntimeError) as error:  # no tensor, or one without strides
            return self._fall_back(inputs, given, _odd(self._tensors, self._at, inputs) or str(error))
        if probed is None:
            return self._other_tensors(inputs, given)
        try:
            extra = self._output_sizes(inputs) if self._depends else ()
            key = (probed, given, extra)
            thread = self._thread
            plan = thread.plans.get(key)
            if plan is None:
                plan = self._remember(key, inputs, given, dict(extra))
            if isinstance(plan, str):
                return self._fall_back(inputs, given, plan)
            ready, served = plan
            result = ready.call(inputs, [inputs[index] for index in self._at])
        except Unfit as unfit:
            return self._fall_back(inputs, given, str(unfit))
        served.count()
        thread.served, thread.reason = served.key, ""
        return result

    def last_served(self) -> str:
        return self._thread.served

    def last_path(self) -> str:
        """ "kernel", or what served instead and why."""
        thread = self._thread
        if not thread.served:
            return thread.reason
        return f"{thread.served}: {thread.reason}" if thread.reason else "kernel"

    def attestation(self) -> dict[str, Any]:
        """What served the calls of this process so far. Replays of a CUDA graph are not seen."""
        kernels = {one.key: {"calls": one.calls, "candidate_id": one.candidate_id} for one in self._kernels}
        return {"kernels": kernels, "fallback": {"calls": self._n_fallbacks}}

    def by_reference(self, inputs: Sequence[Any], given: Sequence[Any]) -> Any:
        return self._as_reference(self.reference_module.reference, inputs, given)

    def _as_reference(self, function: Callable[..., Any], inputs: Sequence[Any], given: Sequence[Any]) -> Any:
        named = {spec["name"]: value for spec, value in zip(self.spec["inputs"], inputs, strict=True)}
        known = dict(zip(self._given, given, strict=True))
        axes = {axis["name"] for axis in self.spec["axes"]} & set(inspect.signature(function).parameters)
        if axes - set(known):
            known = self.sizes(inputs, known)
        result = function(**named, **{name: known[name] for name in axes if name in known})
        return tuple(result) if isinstance(result, list) else result

    def sizes(self, inputs: Sequence[Any], given: Mapping[str, Any]) -> dict[str, Any]:
        return self._dims.sizes([inputs[index].shape for index in self._at], given)

    def output_shapes(self, sizes: Mapping[str, Any]) -> list[list[Any]]:
        return [[dim.of(sizes) for dim in dims] for dims in self._output_dims]

    def fits_statically(self, inputs: Sequence[Any]) -> bool:
        """Whether types and devices are the kernels', whatever the shapes."""
        return not any(
            isinstance(inputs[index], torch.Tensor) is False or self._type_fault(spec, inputs[index])
            for spec, index in zip(self._tensors, self._at, strict=True)
        )

    def _remember(self, key: Any, inputs: Sequence[Any], given: Sequence[Any], extra: dict[str, int]) -> Any:
        plans = self._thread.plans
        if len(plans) >= MAX_PLANS:
            plans.clear()
        plan: tuple[Plan, Served] | str
        try:
            plan = self._plan(inputs, given, extra)
        except Unfit as unfit:
            plan = str(unfit)
        plans[key] = plan
        return plan

    def _plan(self, inputs: Sequence[Any], given: Sequence[Any], extra: dict[str, int]) -> tuple[Plan, Served]:
        tensors = [inputs[index] for index in self._at]
        for spec, tensor in zip(self._tensors, tensors, strict=True):
            self._fit(spec, tensor)
        if len({tensor.device for tensor in tensors}) > 1:
            raise Unfit("the tensors are on different devices")
        shapes = [tensor.shape for tensor in tensors]
        sizes = self._dims.sizes(shapes, dict(zip(self._given, given, strict=True)))
        self._dims.check(shapes, sizes)
        sizes |= {spec["pitch"][0]: pitch(spec, tensor) for spec, tensor in zip(self._tensors, tensors, strict=True)
                  if "pitch" in spec}  # fmt: skip
        faults = []
        for served in self._kernels:
            fault = served.rule.fault(sizes)
            if fault is None:
                try:
                    return served.kernel.plan(tensors, {**sizes, **extra}), served
                except Unfit as unfit:
                    fault = str(unfit)
            faults.append(fault if len(self._kernels) == 1 else f"{served.key}: {fault}")
        raise Unfit("; ".join(faults))

    def _fit(self, spec: Mapping[str, Any], tensor: Any) -> None:
        if (fault := self._type_fault(spec, tensor)) is not None:
            raise Unfit(fault)
        if tensor.layout != torch.strided or tensor.is_conj() or tensor.is_neg():
            raise Unfit(f"{spec['name']} is not contiguous")
        if "pitch" not in spec and not tensor.is_contiguous():
            raise Unfit(f"{spec['name']} is not contiguous")
        if tensor.requires_grad and torch.is_grad_enabled():
            raise Unfit(f"{spec['name']} requires a gradient")

    def _type_fault(self, spec: Mapping[str, Any], tensor: Any) -> str | None:
        name = spec["name"]
        if tensor.device.type != self.spec["device"]:
            return f"{name} is on {tensor.device}"
        if tensor.dtype != getattr(torch, spec["dtype"]):
            return f"{name} is {str(tensor.dtype)[6:]}, the kernel takes {spec['dtype']}"
        if tensor.dim() != len(spec["dims"]):
            return f"{name} has {tensor.dim()} dimensions, not {len(spec['dims'])}"
        return None

    def _output_sizes(self, inputs: Sequence[Any]) -> tuple[tuple[str, int], ...]:
        """Sizes that depend on the inputs' content: from the reference's own `output_sizes`."""
        function = getattr(self.reference_module, "output_sizes", None)
        if function is None:
            raise Unfit("output sizes depend on the content and the reference has no output_sizes")
        named = {spec["name"]: value for spec, value in zip(self.spec["inputs"], inputs, strict=True)}
        return tuple((name, int(size)) for name, size in function(**named).items())

    def _other_tensors(self, inputs: tuple[Any, ...], given: tuple[Any, ...]) -> Any:
        """Stand-ins of a trace go to the registered operator, which knows their shapes; other kinds of tensors have a
        behaviour of their own, which only the reference respects."""
        from torch._subclasses import FakeTensor

        if self.traced is not None and any(isinstance(inputs[index], FakeTensor) for index in self._at):
            return self.traced(*inputs, **dict(zip(self._given, given, strict=True)))
        return self._fall_back(inputs, given, _odd(self._tensors, self._at, inputs) or "unusual tensors")

    def _fall_back(self, inputs: Sequence[Any], given: Sequence[Any], reason: str) -> Any:
        self._n_fallbacks = next(self._fallbacks)
        thread = self._thread
        if self._vendor is not None:
            try:
                thread.served, thread.reason = self.spec["fallback"], reason
                return self._as_declared(self._vendor(inputs, given), inputs, given)
            except ImportError:  # what it needs is not installed, so nothing was done yet
                self._vendor = None
        thread.served, thread.reason = "reference", reason
        return self.by_reference(inputs, given)

    def _as_declared(self, result: Any, inputs: Sequence[Any], given: Sequence[Any]) -> Any:
        """Somebody else's answer in the shapes that the operator declares: other libraries keep other dimensions."""
        if self._depends or result is None:
            return result
        results = (result,) if isinstance(result, torch.Tensor) else tuple(result)
        try:
            shapes = self.output_shapes(self.sizes(inputs, dict(zip(self._given, given, strict=True))))
        except Unfit:
            return result
        if [one.numel() for one in results] != [math.prod(dims) for dims in shapes]:
            return result
        shaped = tuple(one.reshape(dims) for one, dims in zip(results, shapes, strict=True))
        return shaped[0] if isinstance(result, torch.Tensor) else shaped

    def _found_vendor(self, folder: Path) -> Callable[..., Any] | None:
        """A function of the task's own baselines.py by its name, or `module:function`; nothing where that is not
        installed: then the reference serves."""
        name = self.spec["fallback"]
        if not name:
            return None
        if ":" in name:
            found = _imported(name)
            return (
                None
                if found is None
                else lambda values, axes: found(*values, **dict(zip(self._given, axes, strict=True)))
            )
        path = (folder / self.spec["reference"]).with_name("baselines.py")
        own = _module(f"{self.spec['name']}_baselines", path).ARMS[name]
        return lambda values, axes: self._as_reference(own, values, axes)


_OPERATORS: dict[str, Operator] = {}


def operator(spec: Mapping[str, Any], folder: Path) -> Operator:
    """One per content and process, however often its module is imported, so that nobody's calls go uncounted."""
    known = _OPERATORS.get(spec["identity"])
    if known is None or not known.folder.exists():
        known = _OPERATORS[spec["identity"]] = Operator(spec, folder)
    return known


def _probe(at: Sequence[int], apart: Collection[int] = ()) -> Callable[[tuple[Any, ...]], Any]:
    """Everything that decides about a call but the addresses, as a key: written out, because it is on every call's way.
    `apart`: the inputs whose strides are a size like others. None: something is no plain tensor."""
    names = [f"t{index}" for index in at]
    lines = [f"    {name} = v[{index}]" for name, index in zip(names, at, strict=True)]
    plain = " and ".join(f"(type({name}) is T or type({name}) is P)" for name in names) or "True"
    facts = "".join(
        f"{name}.shape, {name}.dtype, {name}.get_device(), "
        f"{name}.{'stride' if index in apart else 'is_contiguous'}(), {name}.is_neg(), "
        for name, index in zip(names, at, strict=True)
    )
    grad = " or ".join(f"{name}.requires_grad" for name in names) or "False"
    text = "\n".join(["def probe(v):", *lines, f"    if not ({plain}):", "        return None",
                      f"    return ({facts}({grad}) and G())", ""])  # fmt: skip
    scope: dict[str, Any] = {"T": torch.Tensor, "P": torch.nn.Parameter, "G": torch.is_grad_enabled}
    exec(compile(text, "<probe>", "exec"), scope)
    found: Callable[[tuple[Any, ...]], Any] = scope["probe"]
    return found


def _odd(specs: Sequence[Mapping[str, Any]], at: Sequence[int], inputs: Sequence[Any]) -> str:
    for spec, index in zip(specs, at, strict=True):
        value = inputs[index]
        if not isinstance(value, torch.Tensor):
            return f"{spec['name']} is not a tensor"
        if type(value) not in _PLAIN:
            return f"{spec['name']} is a {type(value).__name__}"
        if value.layout != torch.strided:
            return f"{spec['name']} is not contiguous"
    return ""


def _module(name: str, path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} cannot be loaded")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.parent))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(path.parent))
    return module


def _imported(where: str) -> Callable[..., Any] | None:
    module, _, name = where.partition(":")
    try:
        found = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError):
        return None
    return found if callable(found) else None
