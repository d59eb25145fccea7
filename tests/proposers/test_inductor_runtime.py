"""The C++ that stands in for library operators, compiled once and compared with PyTorch."""

from __future__ import annotations

import ctypes
import subprocess

import pytest
import torch

from kernelevolve.proposers.builtin.inductor import RUNTIME

GLUE = """
#define KE_THREADS 2
#define KE_KC 64
#define KE_NC 64
#include "memory.h"
#include "gemm.h"
#include "convolution.h"
#include "search.h"
using ke::Matrix;
extern "C" {
void matmul(const double* l, const int64_t* ls, const double* r, const int64_t* rs, double* o, const int64_t* os,
            const double* added, const int64_t* as, double alpha, double beta) {
    const auto make = [](auto* data, const int64_t* s) {
        return Matrix<std::remove_pointer_t<decltype(data)>>{data, {s[0], s[1], s[2]}, {s[3], s[4], s[5]}};
    };
    const auto start = added ? make(added, as) : Matrix<const double>{};
    ke::matmul<double>(make(l, ls), make(r, rs), make(o, os), alpha, start, beta);
}
void convolution(const float* x, const float* w, const float* bias, float* out, const int64_t* n, const int64_t* rows) {
    ke::Window window;
    int64_t* fields[6] = {window.in, window.kernel, window.out, window.stride, window.padding, window.dilation};
    for (int i = 0; i < 18; i++) fields[i / 3][i % 3] = rows[i];
    window.transposed = n[4];
    ke::convolution<float>(x, w, bias, out, n[0], n[1], n[2], n[3], window);
}
void lower(const float* v, int64_t rows, int64_t n, const float* b, int64_t m, int64_t* out) {
    ke::bucketize<false>(v, rows, n, b, m, out);
}
void upper(const float* v, int64_t rows, int64_t n, const float* b, int64_t m, int64_t* out) {
    ke::bucketize<true>(v, rows, n, b, m, out);
}
void cumsum(const double* x, double* out, int64_t outer, int64_t n, int64_t inner) {
    ke::cumsum(x, out, outer, n, inner);
}
}
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    folder = tmp_path_factory.mktemp("runtime")
    (folder / "glue.cpp").write_text(GLUE)
    command = ["g++", "-std=c++20", "-O1", "-march=native", "-fopenmp", "-fPIC", "-shared", f"-I{RUNTIME}", "-Wall"]
    subprocess.run([*command, "glue.cpp", "-o", "glue.so"], cwd=folder, check=True)
    return ctypes.CDLL(str(folder / "glue.so"))


def pointer(tensor: torch.Tensor | None) -> ctypes.c_void_p:
    return ctypes.c_void_p(tensor.data_ptr() if tensor is not None else None)


def numbers(*values: int) -> ctypes.Array[ctypes.c_int64]:
    return (ctypes.c_int64 * len(values))(*values)


def matrix(tensor: torch.Tensor) -> ctypes.Array[ctypes.c_int64]:
    return numbers(*tensor.shape, *tensor.stride())


@pytest.mark.parametrize(
    "sizes", [(1, 1, 1, 1), (2, 97, 70, 65), (3, 5, 200, 3), (1, 200, 2, 130), (2, 12, 16, 0), (0, 3, 3, 3)]
)
@pytest.mark.parametrize("layout", ["plain", "left", "right", "out"])
def test_matrix_products(library: ctypes.CDLL, sizes: tuple[int, int, int, int], layout: str) -> None:
    batch, m, n, k = sizes
    rng = torch.Generator().manual_seed(1)
    left = torch.randn(batch, m, k, generator=rng, dtype=torch.float64)
    right = torch.randn(batch, k, n, generator=rng, dtype=torch.float64)
    added = torch.randn(n, generator=rng, dtype=torch.float64).expand(batch, m, n)
    out = torch.full((batch, m, n), torch.nan, dtype=torch.float64)
    if layout == "left":
        left = left.transpose(1, 2).contiguous().transpose(1, 2)
    if layout == "right":
        right = right.transpose(1, 2).contiguous().transpose(1, 2)
    if layout == "out":
        out = out.transpose(1, 2).contiguous().transpose(1, 2)
    library.matmul(
        pointer(left), matrix(left), pointer(right), matrix(right), pointer(out), matrix(out), pointer(added),
        matrix(added), ctypes.c_double(0.5), ctypes.c_double(2.0),
    )  # fmt: skip
    torch.testing.assert_close(out, 0.5 * left @ right + 2 * added)
    library.matmul(
        pointer(left), matrix(left), pointer(right), matrix(right), pointer(out), matrix(out), None, None,
        ctypes.c_double(1.0), ctypes.c_double(0.0),
    )  # fmt: skip
    torch.testing.assert_close(out, left @ right)


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("filters", [1, 6])
@pytest.mark.parametrize(
    ("kernel", "stride", "padding", "dilation"),
    [((3,), (1,), (1,), (1,)), ((2, 3), (2, 1), (0, 2), (1, 2)), ((1, 3, 2), (1, 2, 3), (0, 1, 1), (1, 1, 1))],
)
def test_convolutions(
    library: ctypes.CDLL, transposed: bool, groups: int, filters: int, kernel: tuple[int, ...], stride: tuple[int, ...],
    padding: tuple[int, ...], dilation: tuple[int, ...],
) -> None:  # fmt: skip
    rng, n = torch.Generator().manual_seed(2), len(kernel)
    channels, size = 5, (9, 11, 13)[:n]
    x = torch.randn(3, channels * groups, *size, generator=rng)
    shape = (channels * groups, filters) if transposed else (filters * groups, channels)
    weight = torch.randn(*shape, *kernel, generator=rng)
    bias = torch.randn(filters * groups, generator=rng)
    expected = torch.convolution(x, weight, bias, stride, padding, dilation, transposed, (0,) * n, groups)
    out = torch.full_like(expected, torch.nan)
    rows = [size, kernel, expected.shape[2:], stride, padding, dilation]
    filled = [[0 if row == 4 else 1] * (3 - n) + list(values) for row, values in enumerate(rows)]
    library.convolution(
        pointer(x), pointer(weight), pointer(bias), pointer(out), numbers(3, groups, channels, filters, transposed),
        numbers(*(value for row in filled for value in row)),
    )  # fmt: skip
    torch.testing.assert_close(out, expected, rtol=1e-4, atol=1e-4)


def test_searches_and_sums(library: ctypes.CDLL) -> None:
    rng = torch.Generator().manual_seed(3)
    values = torch.randint(-2, 12, (4, 501), generator=rng).float()
    values[1, 7], values[2, 8] = torch.nan, -torch.inf
    rows = torch.randint(0, 10, (4, 9), generator=rng).float().sort(1).values
    out = torch.full(values.shape, -1)
    for name, right in (("lower", False), ("upper", True)):
        getattr(library, name)(pointer(values), 4, 501, pointer(rows), 9, pointer(out))
        assert torch.equal(out, torch.searchsorted(rows, values, right=right))
        getattr(library, name)(pointer(values), 1, 2004, pointer(rows[0]), 9, pointer(out))
        assert torch.equal(out, torch.bucketize(values, rows[0], right=right))
    x = torch.randn(3, 40, 5, generator=rng, dtype=torch.float64)
    total = torch.empty_like(x)
    library.cumsum(pointer(x), pointer(total), 3, 40, 5)
    torch.testing.assert_close(total, x.cumsum(1))
