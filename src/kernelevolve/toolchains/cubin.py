"""Facts of compiled device code, read straight from the file: a cubin is an ELF, its notes on kernels are `.nv.info`.

`.nv.info` lists attributes as (format, attribute, value): format 1 has no value, 2 a byte, 3 two bytes, each in a field
of two; 4 has a size of two bytes and that many bytes after it. Unknown attributes are skipped, so newer files can be
read.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from kernelevolve.errors import RecordError
from kernelevolve.model.kernel_facts import KernelFacts, Parameter
from kernelevolve.model.verdict import CompileMessage

_MACHINE = 190
_ENTRY = 0x10
"""Bit of a symbol's `st_other`: a kernel, not a function that kernels call."""
_SYMTAB = 2
_MAX_THREADS, _FRAME_SIZE, _PARAMETER, _REGISTERS, _BARRIERS, _PARAMETER_SPACE = 0x05, 0x11, 0x17, 0x2F, 0x4C, 0x19
_RESERVED_SHARED_BYTES, _RESERVED_SINCE = 1024, 90
"""From this generation on the size of a kernel's shared memory in the file includes the system's own."""
_SIZED = 4
_SPILLS = re.compile(r"(\d+) bytes spill stores?, (\d+) bytes spill loads?")


@dataclass(frozen=True, kw_only=True)
class _Section:
    name: str
    kind: int
    offset: int
    n_bytes: int
    info: int


@dataclass(kw_only=True)
class _Elf:
    data: bytes
    sections: list[_Section]
    symbols: list[tuple[str, int]] = field(default_factory=list)
    """(name, st_other) in the order of the table: other sections name a symbol by its number."""

    def section(self, name: str) -> _Section | None:
        return next((section for section in self.sections if section.name == name), None)

    def content(self, section: _Section) -> bytes:
        return self.data[section.offset : section.offset + section.n_bytes]


def kernel_facts(cubin: bytes, *, messages: Sequence[CompileMessage] = ()) -> tuple[KernelFacts, ...]:
    """Every kernel of a cubin, in the order of its symbols. `messages` of its build may say what was spilled. Raises
    RecordError: not a cubin, or cut off."""
    try:
        elf = _read(cubin)
        shared = _by_symbol(elf)
        return tuple(
            _kernel(elf, name, shared.get(number, {}), messages)
            for number, (name, other) in enumerate(elf.symbols)
            if other & _ENTRY and elf.section(f".text.{name}") is not None
        )
    except (struct.error, IndexError, ValueError) as error:
        raise RecordError(f"the machine code cannot be read: {error}") from error


def static_bytes(cubin: bytes) -> int:
    """Device memory that loading it takes for arrays of its own. Raises RecordError."""
    try:
        return sum(section.n_bytes for section in _read(cubin).sections if section.name.startswith(".nv.global"))
    except (struct.error, IndexError, ValueError) as error:
        raise RecordError(f"the machine code cannot be read: {error}") from error


def architecture(cubin: bytes) -> str:
    """What it was compiled for, "sm_90"; Raises RecordError."""
    try:
        _header(cubin)
        return f"sm_{_generation(cubin)}"
    except struct.error as error:
        raise RecordError(f"the machine code cannot be read: {error}") from error


def _header(data: bytes) -> tuple[int, int, int]:
    """(offset of the section table, number of sections, number of the section with their names)."""
    if data[:4] != b"\x7fELF" or data[4:6] != b"\x02\x01":
        raise RecordError("the machine code is no 64-bit little-endian ELF file")
    machine, offset, n_sections, names = (
        *struct.unpack_from("<H", data, 18), *struct.unpack_from("<Q", data, 40), *struct.unpack_from("<HH", data, 60),
    )  # fmt: skip
    if machine != _MACHINE:
        raise RecordError(f"the machine code is for machine {machine}, not for an NVIDIA GPU ({_MACHINE})")
    return offset, n_sections, names


def _generation(data: bytes) -> int:
    """The layout of the header's flags changed with version 8 of the ABI."""
    flags = struct.unpack_from("<I", data, 48)[0]
    return int(flags >> 8 & 0xFF) if data[8] >= 8 else int(flags & 0xFF)


def _read(data: bytes) -> _Elf:
    at, n_sections, names = _header(data)
    raw = [struct.unpack_from("<IIQQQQIIQQ", data, at + 64 * number) for number in range(n_sections)]
    strings = data[raw[names][4] : raw[names][4] + raw[names][5]]
    elf = _Elf(
        data=data,
        sections=[
            _Section(name=_text(strings, row[0]), kind=row[1], offset=row[4], n_bytes=row[5], info=row[7])
            for row in raw
        ],
    )
    for row in raw:
        if row[1] == _SYMTAB:
            table, texts = data[row[4] : row[4] + row[5]], raw[row[6]]
            strings = data[texts[4] : texts[4] + texts[5]]
            elf.symbols += [(_text(strings, name), other) for name, _, other in struct.iter_unpack("<IBB18x", table)]
    return elf


def _text(strings: bytes, at: int) -> str:
    return strings[at : strings.index(b"\0", at)].decode() if at < len(strings) else ""


def _attributes(data: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at + 4 <= len(data):
        form, attribute, value = struct.unpack_from("<BBH", data, at)
        at += 4
        if form != _SIZED:
            yield attribute, struct.pack("<H", value)
            continue
        yield attribute, data[at : at + value]
        at += -(-value // 4) * 4


def _by_symbol(elf: _Elf) -> dict[int, dict[int, int]]:
    """Of the section that speaks of all kernels: attribute -> number, by symbol."""
    found: dict[int, dict[int, int]] = {}
    section = elf.section(".nv.info")
    for attribute, value in _attributes(elf.content(section)) if section is not None else ():
        if attribute in (_REGISTERS, _FRAME_SIZE) and len(value) == 8:
            symbol, number = struct.unpack("<II", value)
            found.setdefault(symbol, {})[attribute] = number
    return found


def _kernel(elf: _Elf, name: str, told: dict[int, int], messages: Sequence[CompileMessage]) -> KernelFacts:
    text, info = elf.section(f".text.{name}"), elf.section(f".nv.info.{name}")
    parameters, max_threads, n_barriers = [], None, 0
    for attribute, value in _attributes(elf.content(info)) if info is not None else ():
        if attribute == _PARAMETER:
            _, ordinal, offset, packed = struct.unpack("<IHHI", value)
            parameters.append(Parameter(ordinal=ordinal, offset=offset, n_bytes=packed >> 18))
        elif attribute == _MAX_THREADS:
            x, y, z = struct.unpack("<III", value)
            max_threads = x * y * z
        elif attribute == _BARRIERS:
            n_barriers = value[0]
    generation = _generation(elf.data)
    return KernelFacts(
        name=name, architecture=f"sm_{generation}", registers=told.get(_REGISTERS),
        static_shared_bytes=_shared_bytes(elf, name, generation), local_bytes=told.get(_FRAME_SIZE),
        spill_bytes=_spill_bytes(name, messages), max_threads=max_threads,
        n_barriers=n_barriers if info is not None else None, code_bytes=text.n_bytes if text is not None else 0,
        parameters=tuple(sorted(parameters, key=lambda item: item.ordinal)),
    )  # fmt: skip


def _shared_bytes(elf: _Elf, name: str, generation: int) -> int:
    section = elf.section(f".nv.shared.{name}")
    if section is None:
        return 0
    return max(0, section.n_bytes - (_RESERVED_SHARED_BYTES if generation >= _RESERVED_SINCE else 0))


def _spill_bytes(name: str, messages: Sequence[CompileMessage]) -> int | None:
    for message in messages:
        if message.message.startswith(f"{name}: ") and (match := _SPILLS.search(message.message)):
            return int(match[1]) + int(match[2])
    return None
