"""The C++ toolchain: one compile per content, errors as data, and what may not pass inspection."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path

import pytest

from kernelevolve.model.candidate import Candidate, Origin
from kernelevolve.model.task import SourceFile, Task
from kernelevolve.tasks import builtin_names, load_task
from kernelevolve.toolchains import abi
from kernelevolve.toolchains.base import Artifact, BuildFailure
from kernelevolve.toolchains.cpp import CppToolchain, parse_messages

SOURCE = 'extern "C" int row_scale(const float*, const float*, float* y, int64_t, int64_t) { y[0] = 1; return 0; }'


def candidate(*texts: str, flags: tuple[str, ...] = (), names: tuple[str, ...] = ("a.cpp", "b.cpp")) -> Candidate:
    files = tuple(SourceFile(path=name, text=text) for name, text in zip(names, texts, strict=False))
    return Candidate(language="cpp", files=files, flags=flags, origin=Origin(proposer="tests"))


def test_the_same_content_compiles_once_and_other_content_again(tmp_path: Path, row_scale: Task) -> None:
    toolchain = CppToolchain(cache=tmp_path)
    first = toolchain.build(row_scale, candidate(SOURCE), timeout_s=60)
    again = CppToolchain(cache=tmp_path).build(row_scale, candidate(SOURCE), timeout_s=60)
    other = toolchain.build(row_scale, candidate(SOURCE + " "), timeout_s=60)
    flagged = toolchain.build(row_scale, candidate(SOURCE, flags=("-O2",)), timeout_s=60)
    assert isinstance(first, Artifact)
    assert isinstance(again, Artifact)
    assert (first.cached, again.cached, first.sha256) == (False, True, again.sha256)
    assert isinstance(other, Artifact)
    assert isinstance(flagged, Artifact)
    assert not other.cached
    assert not flagged.cached


def test_a_damaged_artifact_is_built_again(tmp_path: Path, row_scale: Task) -> None:
    built = CppToolchain(cache=tmp_path).build(row_scale, candidate(SOURCE), timeout_s=60)
    assert isinstance(built, Artifact)
    Path(built.path).write_bytes(b"something else")
    again = CppToolchain(cache=tmp_path).build(row_scale, candidate(SOURCE), timeout_s=60)
    assert isinstance(again, Artifact)
    assert again.sha256 == built.sha256


def test_two_files_and_a_header_are_one_candidate(tmp_path: Path, row_scale: Task) -> None:
    main = '#include "part.h"\n' + SOURCE.replace("{ y[0] = 1; return 0; }", "{ return part(y); }")
    part = '#include "part.h"\nint part(float* y) { *y = 2; return 0; }'
    built = CppToolchain(cache=tmp_path).build(
        row_scale, candidate(main, part, "int part(float*);", names=("a.cpp", "b.cpp", "part.h")), timeout_s=60
    )
    assert isinstance(built, Artifact)


def test_a_failure_is_remembered_with_its_lines(tmp_path: Path, row_scale: Task) -> None:
    toolchain = CppToolchain(cache=tmp_path)
    for _ in range(2):
        failed = toolchain.build(row_scale, candidate(SOURCE.replace("return 0", "return nope")), timeout_s=60)
        assert isinstance(failed, BuildFailure)
        assert failed.messages[0].line == 1
        assert "nope" in failed.messages[0].message


@pytest.mark.parametrize(
    "flag", ["-O3", "-Ofast", "-ffast-math", "-mprefer-vector-width=512", "-DTILE=8", "-funroll-loops"]
)
def test_ordinary_flags_pass(flag: str, tmp_path: Path, row_scale: Task) -> None:
    assert CppToolchain(cache=tmp_path).inspect(row_scale, candidate(SOURCE, flags=(flag,))) is None


@pytest.mark.parametrize(
    "flag",
    ["-fplugin=x.so", "@file", "-o", "out", "-I/etc", "-include", "-specs=x", "-B.", "-wrapper", "-fdump-tree-all",
     "-fprofile-use=/x", "-Wl,-rpath", "-DX=`id`", "-save-temps", "-fsanitize=address", "-"],
)  # fmt: skip
def test_flags_that_reach_outside_do_not(flag: str, tmp_path: Path, row_scale: Task) -> None:
    assert CppToolchain(cache=tmp_path).inspect(row_scale, candidate(SOURCE, flags=(flag,))) is not None


def test_linker_errors_are_messages_too() -> None:
    (message,) = parse_messages(
        "/usr/bin/ld: /tmp/x.o: in function `f':\n/usr/bin/ld: a.cpp:(.text+0x5): undefined reference to `g'\n"
    )
    assert message.message == "undefined reference to `g'"


@pytest.mark.parametrize("name", builtin_names())
def test_every_built_in_task_has_an_abi_that_compiles(name: str, tmp_path: Path) -> None:
    task = load_task(name)
    (tmp_path / "ke_abi.h").write_text(abi.header(task))
    (tmp_path / "shim.cpp").write_text(abi.shim(task))
    command = ["g++", "-std=c++20", "-Wall", "-Wextra", "-Werror", "-Wno-unused-function", "-fsyntax-only"]
    subprocess.run([*command, "-include", "ke_abi.h", "shim.cpp"], cwd=tmp_path, check=True)


def test_16_bit_helpers_agree_with_torch_on_every_value(tmp_path: Path, row_scale: Task) -> None:
    torch = pytest.importorskip("torch")
    source = abi.header(row_scale) + 'extern "C" {\n' + "".join(
        f"void {name}_all(const {a}* in, {b}* out, long n) {{ for (long i = 0; i < n; ++i) out[i] = {name}(in[i]); }}\n"
        for name, a, b in [
            ("ke_bf16_to_float", "uint16_t", "float"), ("ke_half_to_float", "uint16_t", "float"),
            ("ke_float_to_bf16", "float", "uint16_t"), ("ke_float_to_half", "float", "uint16_t"),
        ]
    ) + "}\n"  # fmt: skip
    (tmp_path / "h.cpp").write_text(source)
    subprocess.run(["g++", "-O2", "-shared", "-fPIC", "h.cpp", "-o", "h.so"], cwd=tmp_path, check=True)
    library = ctypes.CDLL(str(tmp_path / "h.so"))
    bits = torch.arange(65536, dtype=torch.int32).to(torch.int16)
    floats = torch.cat(
        [torch.randn(200_000) * 10.0 ** torch.randint(-9, 6, (200_000,)), torch.tensor([0.0, -0.0, float("inf")])]
    )
    for kind, dtype in [("bf16", torch.bfloat16), ("half", torch.float16)]:
        wide = torch.empty(65536)
        getattr(library, f"ke_{kind}_to_float_all")(
            ctypes.c_void_p(bits.data_ptr()), ctypes.c_void_p(wide.data_ptr()), ctypes.c_long(65536)
        )
        assert torch.equal(torch.nan_to_num(wide, nan=1.5), torch.nan_to_num(bits.view(dtype).float(), nan=1.5))
        narrow = torch.empty(floats.numel(), dtype=torch.int16)
        getattr(library, f"ke_float_to_{kind}_all")(
            ctypes.c_void_p(floats.data_ptr()), ctypes.c_void_p(narrow.data_ptr()), ctypes.c_long(floats.numel())
        )
        assert torch.equal(narrow.view(dtype), floats.to(dtype))
