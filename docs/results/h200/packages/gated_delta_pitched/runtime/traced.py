"""The package as one operator of torch.library, so that torch.compile, export and fake tensors can see through it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from .dispatch import Operator

NAMESPACE = "kernelevolve_exports"


def registered(operator: Operator) -> Callable[..., Any]:
    """The operator as torch knows it. Its name holds the package's identity: two versions may be in one process."""
    if operator.traced is not None:
        return operator.traced
    spec = operator.spec
    n_inputs = len(spec["inputs"])
    free = tuple(spec["free"])

    def run(*values: Any, **axes: Any) -> Any:
        inputs = values[:n_inputs]
        result = operator.run(tuple(inputs), tuple(axes[name] for name in free))
        return _own(result, [value for value in inputs if isinstance(value, torch.Tensor)])

    def fake(*values: Any, **axes: Any) -> Any:
        return _made_up(operator, values[:n_inputs], axes)

    name = f"{spec['name']}_{spec['identity']}"
    updated = [one["name"] for one in spec["inputs"] if one["in_place"]]
    made = torch.library.custom_op(f"{NAMESPACE}::{name}", run, mutates_args=updated, schema=schema(operator))
    made.register_fake(fake)
    found: Callable[..., Any] = getattr(getattr(torch.ops, NAMESPACE), name).default
    operator.traced = found
    return found


def schema(operator: Operator) -> str:
    spec = operator.spec
    words = []
    for number, one in enumerate(spec["inputs"]):
        kind = "Tensor" if not one["scalar"] else "float" if one["scalar"] == "double" else "SymInt"
        words.append(f"{kind}(a{number}!) {one['name']}" if one["in_place"] else f"{kind} {one['name']}")
    if spec["free"]:
        words += ["*", *(f"SymInt {name}" for name in spec["free"])]
    results = ["Tensor"] * len(spec["outputs"])
    return f"({', '.join(words)}) -> {results[0] if len(results) == 1 else '(' + ', '.join(results) + ')'}"


def _made_up(operator: Operator, inputs: Sequence[Any], axes: dict[str, Any]) -> Any:
    """Outputs of the right shapes without their content."""
    spec = operator.spec
    if not operator.fits_statically(inputs):  # the reference will serve it, so its answer is the right one
        result = operator.by_reference(inputs, tuple(axes.values()))
        return _own(result, [value for value in inputs if isinstance(value, torch.Tensor)])
    sizes = operator.sizes(inputs, axes)
    for axis in spec["axes"]:
        if axis["role"] == "output":
            sizes[axis["name"]] = torch.library.get_ctx().new_dynamic_size()
    device = next((value.device for value in inputs if isinstance(value, torch.Tensor)), spec["device"])
    made = [
        torch.empty(shape, dtype=getattr(torch, one["dtype"]), device=device)
        for one, shape in zip(spec["outputs"], operator.output_shapes(sizes), strict=True)
    ]
    return made[0] if len(made) == 1 else tuple(made) if made else None


def _own(result: Any, inputs: Sequence[Any]) -> Any:
    """An operator of torch.library may not hand back its inputs' memory, which a reference may."""
    if result is None:
        return None
    several = result if isinstance(result, tuple) else (result,)
    taken = [value.untyped_storage()._cdata for value in inputs]
    own = tuple(one.clone() if one.untyped_storage()._cdata in taken else one for one in several)
    return own if isinstance(result, tuple) else own[0]
