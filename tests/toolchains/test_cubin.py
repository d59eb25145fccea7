"""Facts off machine code against kernels whose facts are known: compiled here, no GPU needed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from kernelevolve.errors import RecordError
from kernelevolve.model.candidate import Candidate, Origin
from kernelevolve.model.kernel_facts import InstructionMix, KernelFacts
from kernelevolve.model.task import SourceFile, Task
from kernelevolve.toolchains.base import Artifact
from kernelevolve.toolchains.cubin import architecture, kernel_facts
from kernelevolve.toolchains.cuda import CudaToolchain
from kernelevolve.toolchains.device_artifact import DeviceBuilt, cubin_path
from kernelevolve.toolchains.nvrtc import find_nvrtc
from kernelevolve.toolchains.sass import facts_with_mix, find_disassembler, parse_disassembly

needs_nvrtc = pytest.mark.skipif(find_nvrtc() is None, reason="needs NVRTC: pip install nvidia-cuda-nvrtc")
needs_disassembler = pytest.mark.skipif(
    find_disassembler() is None, reason="needs a disassembler: pip install nvidia-cuda-nvdisasm"
)
PLAN = '[[launch]]\nkernel = "copy4"\ngrid = ["R", "1", "1"]\nblock = ["32", "1", "1"]\nargs = ["x", "y", "R", "C"]\n'
SOURCE = """
extern "C" __global__ void __launch_bounds__(256, 2) copy4(const float4* x, float4* y, int n, double s, char c) {
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) y[i] = x[i];
}
extern "C" __global__ void copy1(const float* x, float* y, long long n) {
    for (long long i = threadIdx.x; i < n; i += 256) y[i] = x[i];
}
extern "C" __global__ void bytes(const unsigned char* x, double* y) { y[threadIdx.x] = x[threadIdx.x]; }
extern "C" __global__ void shared(float* x) {
    __shared__ float t[1000];
    t[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = t[threadIdx.x ^ 1];
}
extern "C" __global__ void dynamic(float* x) {
    extern __shared__ float s[];
    s[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = s[threadIdx.x ^ 1];
}
extern "C" __global__ void nothing() {}
extern "C" __global__ void tensor(const unsigned* x, float* y) {
    float d[4] = {};
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(x[4]), "r"(x[5]));
    y[threadIdx.x] = d[0] + d[1] + d[2] + d[3];
}
extern "C" __global__ void staged(const float4* x, float* y, int* n) {
    __shared__ float4 t[64];
    const unsigned to = (unsigned)__cvta_generic_to_shared(&t[threadIdx.x]);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(to), "l"(x + threadIdx.x));
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();
    y[threadIdx.x] = t[threadIdx.x ^ 1].x;
    atomicAdd(n, 1);
}
"""
HEAVY = """
extern "C" __global__ void copy4(const float* x, float* y, int n, double s) {
    float v[64];
    for (int r = 0; r < n; ++r) {
#pragma unroll
        for (int i = 0; i < 64; ++i) v[i] = x[(r * 64 + i) * 32 + threadIdx.x];
        __syncthreads();
#pragma unroll
        for (int i = 0; i < 64; ++i) y[(r * 64 + i) * 32 + threadIdx.x] = v[i] * v[(i * 7 + 3) % 64];
    }
}
"""

Build = Callable[..., tuple[bytes, Artifact]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cubin")


@pytest.fixture
def build(folder: Path, row_scale: Task) -> Build:
    """Compiled once per content: the toolchain keeps it."""

    def made(source: str = SOURCE, flags: tuple[str, ...] = (), chip: str = "sm_90a") -> tuple[bytes, Artifact]:
        files = (SourceFile(path="kernel.cu", text=source), SourceFile(path="launch.toml", text=PLAN))
        candidate = Candidate(language="cuda", files=files, flags=flags, origin=Origin(proposer="tests"))
        toolchain = CudaToolchain(cache=folder, architecture=chip)
        artifact = toolchain.build(row_scale.model_copy(update={"platform": "cuda"}), candidate, timeout_s=60)
        assert isinstance(artifact, Artifact), artifact
        record = Path(artifact.path)
        kernel = DeviceBuilt.from_json(record.read_text()).kernels[0]
        return cubin_path(record, kernel).read_bytes(), artifact

    return made


def by_name(facts: tuple[KernelFacts, ...]) -> dict[str, KernelFacts]:
    return {item.name: item for item in facts}


@needs_nvrtc
def test_kernels_and_their_parameters(build: Build) -> None:
    found = by_name(kernel_facts(build()[0]))
    names = {"copy4", "copy1", "bytes", "shared", "dynamic", "nothing", "tensor", "staged"}
    assert set(found) == names
    copy4 = found["copy4"]
    assert [(item.ordinal, item.offset, item.n_bytes) for item in copy4.parameters] == [
        (0, 0, 8), (1, 8, 8), (2, 16, 4), (3, 24, 8), (4, 32, 1),
    ]  # fmt: skip
    assert copy4.parameter_bytes == 33
    assert (copy4.max_threads, found["copy1"].max_threads) == (256, None)
    assert (found["nothing"].parameters, found["nothing"].local_bytes, found["nothing"].n_barriers) == ((), 0, 0)
    assert (found["shared"].n_barriers, copy4.n_barriers) == (1, 0)
    assert 8 <= (copy4.registers or 0) <= 64
    assert copy4.code_bytes > 0
    assert copy4.mix is None


@needs_nvrtc
@pytest.mark.parametrize("chip", ["sm_80", "sm_90a", "sm_100a", "sm_120a"])
def test_static_shared_memory_is_the_kernels_own(build: Build, chip: str) -> None:
    cubin, _ = build(chip=chip)
    found = by_name(kernel_facts(cubin))
    assert {name: found[name].static_shared_bytes for name in ("shared", "dynamic", "nothing", "staged")} == {
        "shared": 4000, "dynamic": 0, "nothing": 0, "staged": 1024,
    }  # fmt: skip
    assert [item.n_bytes for item in found["copy4"].parameters] == [8, 8, 4, 8, 1]
    assert (found["copy4"].max_threads, (found["copy4"].registers or 0) > 0) == (256, True)
    assert architecture(cubin) == found["shared"].architecture == chip.rstrip("a")


@needs_nvrtc
def test_the_registers_are_the_ones_the_assembler_names(build: Build) -> None:
    cubin, artifact = build()
    said = {text.message.partition(":")[0]: text.message for text in artifact.messages if "Used" in text.message}
    for name, facts in by_name(kernel_facts(cubin)).items():
        assert f"Used {facts.registers} registers" in said[name]


@needs_nvrtc
def test_a_kernel_that_is_made_to_spill(build: Build) -> None:
    cubin, artifact = build(HEAVY, flags=("--maxrregcount=32",))
    tight = kernel_facts(cubin, messages=artifact.messages)[0]
    loose = kernel_facts(build(HEAVY)[0], messages=build(HEAVY)[1].messages)[0]
    assert tight.registers == 32
    assert (tight.local_bytes or 0) > 0
    assert (tight.spill_bytes or 0) > 0
    assert (loose.local_bytes, loose.spill_bytes) == (0, 0)
    assert kernel_facts(cubin)[0].spill_bytes is None  # only the assembler knows


@needs_nvrtc
@needs_disassembler
def test_the_instructions_are_the_ones_the_source_asks_for(build: Build) -> None:
    found = {name: item.mix for name, item in by_name(facts_with_mix(build()[0])).items()}
    copy4, copy1, bytes_, shared = (found[name] or InstructionMix() for name in ("copy4", "copy1", "bytes", "shared"))
    assert set(copy4.load_bits) == set(copy4.store_bits) == set(copy4.looped_load_bits) == {128}
    assert copy4.narrow_share == 0.0
    assert set(copy1.looped_store_bits) == {32}
    assert copy1.narrow_share == 1.0
    assert (bytes_.load_bits, bytes_.store_bits) == ({8: 1}, {64: 1})
    assert shared.count("LDS", "STS") == 2
    assert shared.count("BAR") == 1
    assert shared.looped == {}
    tensor, staged = found["tensor"] or InstructionMix(), found["staged"] or InstructionMix()
    assert (tensor.mma_generation, tensor.count("HMMA") > 0, copy1.mma_generation) == ("warp", True, "none")
    assert staged.count("LDGSTS") == 1
    assert staged.load_bits == {128: 1}
    assert staged.count("ATOMG", "ATOM", "RED", "REDG") == 1


@needs_nvrtc
@needs_disassembler
def test_spills_stand_in_the_loop(build: Build) -> None:
    tight = facts_with_mix(build(HEAVY, flags=("--maxrregcount=32",))[0])[0].mix
    loose = facts_with_mix(build(HEAVY)[0])[0].mix
    assert tight is not None
    assert loose is not None
    assert tight.looped.get("STL", 0) > 0
    assert tight.n_local > 0
    assert loose.n_local == 0


@pytest.mark.parametrize("damage", [b"", b"\x7fELF", b"not a cubin at all" * 10, b"\x7fELF\x02\x01" + b"\0" * 60])
def test_what_is_no_cubin_is_a_record_error(damage: bytes) -> None:
    with pytest.raises(RecordError, match="machine code"):
        kernel_facts(damage)


@needs_nvrtc
def test_a_cubin_that_was_cut_off_or_changed_never_crashes_us(build: Build) -> None:
    cubin = build()[0]
    for length in range(64, len(cubin), 997):
        try:
            kernel_facts(cubin[:length])
        except RecordError:
            continue
    for at in range(0, len(cubin), 101):
        changed = bytearray(cubin)
        changed[at] ^= 0xFF
        try:
            kernel_facts(bytes(changed))
        except RecordError:
            continue


NVDISASM = """
//--------------------- .text.twice               --------------------------
\t.section\t.text.twice,"ax",@progbits
        .size           twice,(.L_x_9 - twice)
twice:
.text.twice:
        /*0000*/                   LDC R1, c[0x0][0x28] ;
        /*0010*/              @!P0 EXIT ;
.L_x_1:
        /*0020*/                   LDG.E.128.CONSTANT R4, desc[UR4][R2.64] ;
        /*0030*/              @P1  STG.E.U16 desc[UR4][R2.64], R4 ;
        /*0040*/              @!P0 BRA `(.L_x_1) ;
        /*0050*/                   LDG.E R4, desc[UR4][R2.64] ;
.L_x_0:
        /*0060*/                   BRA `(.L_x_0);
        /*0070*/                   NOP;
.L_x_9:
"""
CUOBJDUMP = """
\t\tFunction : twice
        /*0000*/                   LDC R1, c[0x0][0x28] ;                     /* 0x00000a00ff017b82 */
                                                                              /* 0x000ff00000000800 */
        /*0010*/              @!P0 EXIT ;                                     /* 0x00000a00ff017b82 */
        /*0020*/                   LDG.E.128.CONSTANT R4, desc[UR4][R2.64] ;  /* 0x00000a00ff017b82 */
        /*0030*/              @P1  STG.E.U16 desc[UR4][R2.64], R4 ;           /* 0x00000a00ff017b82 */
        /*0040*/              @!P0 BRA 0x20 ;                                 /* 0x00000a00ff017b82 */
        /*0050*/                   LDG.E R4, desc[UR4][R2.64] ;               /* 0x00000a00ff017b82 */
        /*0060*/                   BRA 0x60;                                  /* 0x00000a00ff017b82 */
        /*0070*/                   NOP;                                       /* 0x00000a00ff017b82 */
"""


@pytest.mark.parametrize("text", [NVDISASM, CUOBJDUMP])
def test_both_tools_texts_are_read_alike(text: str) -> None:
    mix = parse_disassembly(text)["twice"]
    assert mix.opcodes == {"BRA": 1, "EXIT": 1, "LDC": 1, "LDG": 2, "STG": 1}
    assert mix.looped == {"BRA": 1, "LDG": 1, "STG": 1}
    assert (mix.load_bits, mix.looped_load_bits, mix.store_bits) == ({32: 1, 128: 1}, {128: 1}, {16: 1})
    assert mix.hot_access_bits == {16: 1, 128: 1}
    assert mix.narrow_share == 0.5
