"""Do counters of these names exist on a chip, and how many replays do they cost? Asked of NVIDIA's counter database:
a library of the CUPTI package that needs no GPU, since it knows every chip of its release as a virtual one.

What starts with `launch__` and the like is the profiler's own and is in no database.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from kernelevolve.errors import MachineError, ToolMissingError

MISSING = "no counter database: pip install nvidia-cuda-cupti (or the CUDA toolkit)"
LIBRARY = "libnvperf_host.so"
PROFILERS_OWN = ("launch__", "derived__", "device__", "smsp__pcsamp_", "smsp__maximum_warps")
_IN_PACKAGES = ("nvidia/cu13/lib", "nvidia/cuda_cupti/lib", "nvidia/cu12/lib")
_IN_TOOLKIT = ("lib64", "lib", "extras/CUPTI/lib64", "targets/x86_64-linux/lib")
_ACTIVITY_PROFILER = 1
_REQUEST_BYTES = 12
"""Of an evaluation request, without the bytes that fill it up to 16."""
_size, _pointer, _text = ctypes.c_size_t, ctypes.c_void_p, ctypes.c_char_p


class _Request(ctypes.Structure):
    _fields_ = [("index", _size), ("kind", ctypes.c_uint8), ("rollup", ctypes.c_uint8), ("sub", ctypes.c_uint16)]


class _RawRequest(ctypes.Structure):
    _fields_ = [
        ("size", _size), ("private", _pointer), ("name", _text), ("isolated", ctypes.c_uint8),
        ("instances", ctypes.c_uint8),
    ]  # fmt: skip


def find_database() -> Path | None:
    folders = [Path(folder) / name for folder in sys.path if folder for name in _IN_PACKAGES]
    roots = [os.environ.get("CUDA_HOME", ""), "/usr/local/cuda", "/opt/cuda"]
    folders += [Path(root) / name for root in roots if root for name in _IN_TOOLKIT]
    return next((folder / LIBRARY for folder in folders if (folder / LIBRARY).exists()), None)


class CounterDatabase:
    """One chip's counters, by its name as in "GH100". Use as a context manager. Raises ToolMissingError where there is
    no library, MachineError where it does not know the chip."""

    def __init__(self, chip: str, *, library: Path | None = None) -> None:
        found = library or find_database()
        if found is None:
            raise ToolMissingError(MISSING)
        self._library = ctypes.CDLL(str(found))
        self.chip = chip
        self._call("NVPW_InitializeHost")
        sized = self._call(
            "NVPW_CUDA_MetricsEvaluator_CalculateScratchBufferSize",
            (_text, chip.encode()),
            (_pointer, None),
            (_size, 0),
        )
        self._scratch = ctypes.create_string_buffer(sized[-1])
        self._evaluator: int = self._call(
            "NVPW_CUDA_MetricsEvaluator_Initialize", (_pointer, ctypes.addressof(self._scratch)), (_size, sized[-1]),
            (_text, chip.encode()), (_pointer, None), (_pointer, None), (_size, 0), (_pointer, None),
        )[-1]  # fmt: skip

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._call("NVPW_MetricsEvaluator_Destroy", (_pointer, self._evaluator))

    def has(self, name: str) -> bool:
        return self._request(name) is not None

    def missing(self, names: Sequence[str]) -> list[str]:
        """Those that this chip does not count, of the ones that are counted at all."""
        return [name for name in names if not name.startswith(PROFILERS_OWN) and not self.has(name)]

    def n_passes(self, names: Sequence[str]) -> int:
        """Replays of a kernel that collecting all of these takes, alone on the device. Names must exist."""
        raw = sorted({item for name in names if not name.startswith(PROFILERS_OWN) for item in self._raw(name)})
        config = self._call(
            "NVPW_CUDA_RawMetricsConfig_Create_V2", (ctypes.c_int, _ACTIVITY_PROFILER), (_text, self.chip.encode()),
            (_pointer, None), (_pointer, None),
        )[-1]  # fmt: skip
        size = _RawRequest.instances.offset + 1
        requests = (_RawRequest * len(raw))(*(_RawRequest(size, None, item, 1, 0) for item in raw))
        self._call("NVPW_RawMetricsConfig_BeginPassGroup", (_pointer, config), (_size, 0))
        self._call(
            "NVPW_RawMetricsConfig_AddMetrics", (_pointer, config), (_pointer, ctypes.addressof(requests)),
            (_size, len(raw)),
        )  # fmt: skip
        self._call("NVPW_RawMetricsConfig_EndPassGroup", (_pointer, config))
        passes = self._call("NVPW_RawMetricsConfig_GetNumPasses_V2", (_pointer, config), (_size, 0))[-1]
        self._call("NVPW_RawMetricsConfig_Destroy", (_pointer, config))
        return int(passes)

    def _request(self, name: str) -> _Request | None:
        request = _Request()
        code, _ = self._try(
            "NVPW_MetricsEvaluator_ConvertMetricNameToMetricEvalRequest", (_pointer, self._evaluator),
            (_text, name.encode()), (_pointer, ctypes.addressof(request)), (_size, _REQUEST_BYTES),
        )  # fmt: skip
        return request if code == 0 else None

    def _raw(self, name: str) -> list[bytes]:
        """What the hardware must count for it."""
        request = self._request(name)
        if request is None:
            raise MachineError(f"{self.chip} has no counter {name}")
        given: list[tuple[Any, Any]] = [
            (_pointer, self._evaluator), (_pointer, ctypes.addressof(request)), (_size, 1), (_size, _REQUEST_BYTES),
            (_size, ctypes.sizeof(_Request)),
        ]  # fmt: skip
        what = "NVPW_MetricsEvaluator_GetMetricRawDependencies"
        first = self._call(what, *given, (_pointer, None), (_size, 0), (_pointer, None), (_size, 0))
        n_needed = first[6]
        names = (_text * max(n_needed, 1))()
        self._call(what, *given, (_pointer, ctypes.addressof(names)), (_size, n_needed), (_pointer, None), (_size, 0))
        return [item for item in names[:n_needed] if item is not None]

    def _call(self, name: str, *fields: tuple[Any, Any]) -> list[Any]:
        code, values = self._try(name, *fields)
        if code != 0:
            raise MachineError(f"the counter database answered {code} to {name} for {self.chip}")
        return values

    def _try(self, name: str, *fields: tuple[Any, Any]) -> tuple[int, list[Any]]:
        """Every function takes one struct: its size, a null, then these fields. Returns what it then holds."""
        kinds = [("size", _size), ("private", _pointer), *((f"f{at}", kind) for at, (kind, _) in enumerate(fields))]
        struct = type("Parameters", (ctypes.Structure,), {"_fields_": kinds})
        last, kind = kinds[-1]
        given = struct(getattr(struct, last).offset + ctypes.sizeof(kind), None, *(value for _, value in fields))
        code = int(getattr(self._library, name)(ctypes.byref(given)))
        return code, [getattr(given, f"f{at}") for at in range(len(fields))]
