"""The instruction mix of a cubin, where a disassembler is found: NVIDIA's own, from the toolkit or a Python package.

Only addresses, opcodes and branch targets are read off its text, which nvdisasm and cuobjdump print alike except for
labels.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from kernelevolve.errors import ToolMissingError
from kernelevolve.model.kernel_facts import InstructionMix, KernelFacts
from kernelevolve.model.verdict import CompileMessage
from kernelevolve.toolchains.cubin import kernel_facts
from kernelevolve.toolchains.process import run_tool

MISSING = "no disassembler: pip install nvidia-cuda-nvdisasm (or the CUDA toolkit)"
TIMEOUT_S = 60.0
TEXT_BYTES = 256 * 2**20
_TOOLS = ("nvdisasm", "cuobjdump")
_IN_PACKAGES = (
    "nvidia/cu13/bin", "nvidia/cuda_nvdisasm/bin", "nvidia/cuda_cuobjdump/bin", "nvidia/cu12/bin",
    "triton/backends/nvidia/bin",
)  # fmt: skip
_KERNEL = re.compile(r"^\s*(?:\.section\s+\.text\.(?P<section>[^,\s]+)|Function : (?P<function>\S+))")
_LABEL = re.compile(r"^\s*(?P<label>\.L_\w+):")
_INSTRUCTION = re.compile(
    r"^\s*/\*(?P<at>[0-9a-fA-F]{4,})\*/\s+\{?\s*(?:@!?U?P[T0-9]+\s+)?(?P<opcode>[A-Z][A-Z0-9_.]*)(?P<rest>[^;]*)"
)
_TARGET = re.compile(r"`\((?P<label>\.L_\w+)\)|\b0x(?P<at>[0-9a-f]+)\s*$")
_BRANCHES = ("BRA", "BRX", "JMP")
_FILLING = ("NOP",)
_BITS = {"U8": 8, "S8": 8, "U16": 16, "S16": 16, "64": 64, "128": 128, "256": 256}
_LOADS, _STORES = ("LDG", "LDGSTS"), ("STG",)


def find_disassembler() -> str | None:
    return _find(os.environ.get("PATH", ""), os.environ.get("CUDA_HOME", ""), tuple(sys.path))


@cache
def _find(path: str, cuda_home: str, python_path: tuple[str, ...]) -> str | None:
    folders = [Path(folder) / name for folder in python_path if folder for name in _IN_PACKAGES]
    folders += [Path(root) / "bin" for root in (cuda_home, "/usr/local/cuda", "/opt/cuda") if root]
    for tool in _TOOLS:
        if (found := shutil.which(tool, path=path)) is not None:
            return found
        for folder in folders:
            if os.access(folder / tool, os.X_OK):
                return str(folder / tool)
    return None


@dataclass(frozen=True, kw_only=True)
class Instruction:
    at: int
    opcode: str
    target: int | None = None

    @property
    def base(self) -> str:
        return self.opcode.partition(".")[0]

    @property
    def bits(self) -> int:
        """How wide a memory access is for one thread."""
        return max((_BITS[word] for word in self.opcode.split(".")[1:] if word in _BITS), default=32)


def facts_with_mix(cubin: bytes, *, messages: Sequence[CompileMessage] = ()) -> tuple[KernelFacts, ...]:
    """`kernel_facts`, with the instructions of each kernel where a disassembler is there and understands the file."""
    facts = kernel_facts(cubin, messages=messages)
    try:
        mixes = instruction_mixes(cubin)
    except ToolMissingError:
        return facts
    return tuple(item.model_copy(update={"mix": mixes.get(item.name)}) for item in facts)


def instruction_mixes(cubin: bytes) -> dict[str, InstructionMix]:
    """By kernel; none where the tool cannot read the file. Raises ToolMissingError."""
    tool = find_disassembler()
    if tool is None:
        raise ToolMissingError(MISSING)
    with tempfile.TemporaryDirectory(prefix="ke-sass-") as name:
        file = Path(name) / "kernel.cubin"
        file.write_bytes(cubin)
        options = ["-sass"] if Path(tool).name == "cuobjdump" else ["-c"]
        finished = run_tool([tool, *options, str(file)], folder=Path(name), timeout_s=TIMEOUT_S, text_limit=TEXT_BYTES)
    return parse_disassembly(finished.text) if finished.returncode == 0 else {}


def parse_disassembly(text: str) -> dict[str, InstructionMix]:
    return {name: _mix(code) for name, code in _kernels(text).items()}


def _kernels(text: str) -> dict[str, list[Instruction]]:
    """Instructions by kernel, with the addresses that branches go to."""
    found: dict[str, list[tuple[int, str, str]]] = {}
    labels: dict[str, int] = {}
    current: list[tuple[int, str, str]] = []
    waiting: list[str] = []  # labels stand before the instruction they name
    for line in text.splitlines():
        if match := _KERNEL.match(line):
            current = found.setdefault(match["section"] or match["function"], [])
        elif match := _LABEL.match(line):
            waiting.append(match["label"])
        elif match := _INSTRUCTION.match(line):
            at = int(match["at"], 16)
            labels.update(dict.fromkeys(waiting, at))
            waiting.clear()
            current.append((at, match["opcode"], match["rest"]))
    return {
        name: [Instruction(at=at, opcode=opcode, target=_target(opcode, rest, labels)) for at, opcode, rest in rows]
        for name, rows in found.items()
        if rows
    }


def _target(opcode: str, rest: str, labels: dict[str, int]) -> int | None:
    if opcode.partition(".")[0] not in _BRANCHES or (match := _TARGET.search(rest.strip())) is None:
        return None
    return labels.get(match["label"]) if match["label"] else int(match["at"], 16)


def _mix(code: Sequence[Instruction]) -> InstructionMix:
    counted = [item for item in code if item.base not in _FILLING and item.target != item.at]  # it fills, at the end
    loops = [(item.target, item.at) for item in counted if item.target is not None and item.target < item.at]
    looped = [item for item in counted if any(first <= item.at <= last for first, last in loops)]
    return InstructionMix(
        opcodes=_opcodes(counted), looped=_opcodes(looped), load_bits=_widths(counted, _LOADS),
        store_bits=_widths(counted, _STORES), looped_load_bits=_widths(looped, _LOADS),
        looped_store_bits=_widths(looped, _STORES),
    )  # fmt: skip


def _opcodes(code: Iterable[Instruction]) -> dict[str, int]:
    return dict(sorted(Counter(item.base for item in code).items()))


def _widths(code: Iterable[Instruction], opcodes: tuple[str, ...]) -> dict[int, int]:
    return dict(sorted(Counter(item.bits for item in code if item.base in opcodes).items()))
