"""What a compiled device kernel is, read off its machine code: known without running it, and without a GPU."""

from __future__ import annotations

from pydantic import Field

from kernelevolve.model.value import Value


class Parameter(Value):
    ordinal: int
    offset: int = Field(description="from the start of the parameters, bytes")
    n_bytes: int


WIDE_BITS = 128
ASYNC_COPIES, BULK_COPIES = ("LDGSTS",), ("UTMALDG", "UTMASTG", "UTMAREDG", "UTMAPF", "UBLKCP", "UBLKPF", "UBLKRED")
WARP_MMA = ("HMMA", "IMMA", "DMMA", "BMMA", "QMMA", "OMMA")
WARPGROUP_MMA = ("HGMMA", "IGMMA", "QGMMA", "BGMMA")
TENSOR_MEMORY_MMA = ("UTCHMMA", "UTCIMMA", "UTCQMMA", "UTCOMMA")
ATOMICS = ("ATOM", "ATOMG", "ATOMS", "RED", "REDG")


class InstructionMix(Value):
    """Instructions as they stand in the code, not as often as they run. `looped` counts those inside a loop only: what
    runs often is there, and what a remainder needs mostly is not. Opcodes are without their modifiers."""

    opcodes: dict[str, int] = {}
    looped: dict[str, int] = {}
    load_bits: dict[int, int] = Field(default={}, description="global loads by bits per thread")
    store_bits: dict[int, int] = {}
    looped_load_bits: dict[int, int] = {}
    looped_store_bits: dict[int, int] = {}

    @property
    def total(self) -> int:
        return sum(self.opcodes.values())

    def count(self, *opcodes: str) -> int:
        return sum(self.opcodes.get(opcode, 0) for opcode in opcodes)

    @property
    def n_local(self) -> int:
        """Loads and stores of a thread's own memory: spilled registers, or arrays that are indexed at run time."""
        return self.count("LDL", "STL")

    @property
    def hot_access_bits(self) -> dict[int, int]:
        """Global loads and stores by width: those in loops, or all of them where no loop has any."""
        looped = _added(self.looped_load_bits, self.looped_store_bits)
        return looped or _added(self.load_bits, self.store_bits)

    @property
    def narrow_share(self) -> float | None:
        """How many of the global accesses that count are narrower than 128 bits; None where there are none."""
        bits = self.hot_access_bits
        total = sum(bits.values())
        return sum(n for width, n in bits.items() if width < WIDE_BITS) / total if total else None

    @property
    def mma_generation(self) -> str:
        """The newest kind of matrix instruction in it: "tensor-memory", "warpgroup", "warp" or "none"."""
        for name, opcodes in (
            ("tensor-memory", TENSOR_MEMORY_MMA), ("warpgroup", WARPGROUP_MMA), ("warp", WARP_MMA),
        ):  # fmt: skip
            if self.count(*opcodes):
                return name
        return "none"


class KernelFacts(Value):
    """One kernel of a cubin. What the file does not say is None, never 0."""

    name: str
    architecture: str = Field(default="", description='e.g. "sm_90"')
    registers: int | None = Field(default=None, description="per thread")
    static_shared_bytes: int | None = Field(default=None, description="without what the system keeps for itself")
    local_bytes: int | None = Field(default=None, description="a thread's own memory: spills, arrays, call frames")
    spill_bytes: int | None = Field(default=None, description="stored plus loaded, by the assembler's word")
    max_threads: int | None = Field(default=None, description="of a block, where the source bounds it")
    n_barriers: int | None = None
    code_bytes: int = 0
    parameters: tuple[Parameter, ...] = ()
    mix: InstructionMix | None = Field(default=None, description="None where no disassembler was found")

    @property
    def parameter_bytes(self) -> int:
        return max((item.offset + item.n_bytes for item in self.parameters), default=0)


def _added(left: dict[int, int], right: dict[int, int]) -> dict[int, int]:
    return {width: left.get(width, 0) + right.get(width, 0) for width in sorted({*left, *right})}
