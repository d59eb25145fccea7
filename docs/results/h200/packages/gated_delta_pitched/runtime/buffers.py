"""What kernels of every kind need of tensors: addresses, numbers, outputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from .sizes import Expression, Unfit

ALIGNMENT = 64
"""Bytes: what a kernel was promised when it was checked."""


class Layout:
    """A task's arguments at one set of sizes. Tensors are numbered: inputs, then outputs."""

    def __init__(self, spec: Mapping[str, Any], tensors: Sequence[Any], sizes: Mapping[str, int]) -> None:
        inputs = [one for one in spec["inputs"] if not one["scalar"]]
        self.device = tensors[0].device if tensors else torch.device(spec["device"])
        self._outputs = [
            ([int(Expression(dim).of(sizes)) for dim in one["dims"]], getattr(torch, one["dtype"]))
            for one in spec["outputs"]
        ]
        if any(size < 0 for dims, _ in self._outputs for size in dims):
            raise Unfit(f"an output would have a negative size at {dict(sizes)}")
        self._names = [one["name"] for one in inputs]
        self._bytes = [_span(tensor) for tensor in tensors]
        self._writes = [
            (mine, other)
            for mine, one in enumerate(inputs)
            for other in range(len(inputs))
            if one["in_place"] and other != mine and self._bytes[mine] and self._bytes[other]
        ]
        self._has_empty = not all(self._bytes) or any(0 in dims for dims, _ in self._outputs)
        self._nothing = torch.empty(ALIGNMENT, dtype=torch.uint8, device=self.device)

    def outputs(self) -> list[Any]:
        return [torch.empty(dims, dtype=dtype, device=self.device) for dims, dtype in self._outputs]

    def addresses(self, tensors: Sequence[Any], outputs: Sequence[Any]) -> list[int]:
        """Raises Unfit when the kernel was not promised such memory. An empty tensor has no address of its own; a
        kernel may still look at the pointer."""
        found = [tensor.data_ptr() for tensor in tensors]
        bits = 0
        for address in found:
            bits |= address
        if bits % ALIGNMENT:
            name = next(name for name, address in zip(self._names, found, strict=True) if address % ALIGNMENT)
            raise Unfit(f"{name} is not aligned to {ALIGNMENT} bytes")
        for mine, other in self._writes:  # what a kernel writes is nobody else's memory
            if found[mine] < found[other] + self._bytes[other] and found[other] < found[mine] + self._bytes[mine]:
                raise Unfit(f"{self._names[mine]} and {self._names[other]} share memory")
        found += [tensor.data_ptr() for tensor in outputs]
        return [address or self._nothing.data_ptr() for address in found] if self._has_empty else found


def _span(tensor: Any) -> int:
    """Bytes from the first element to behind the last, gaps between rows included: rows of two tensors in each other's
    gaps count as shared memory, since telling them apart is not worth a call's time."""
    if not tensor.numel():
        return 0
    reach = sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True))
    return int((reach + 1) * tensor.element_size())


def result(outputs: Sequence[Any]) -> Any:
    return outputs[0] if len(outputs) == 1 else tuple(outputs) if outputs else None
