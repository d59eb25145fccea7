"""ncu's raw page: units, thousands, and what is not a number. The text is made up in its form."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelevolve.diagnosis import ncu
from kernelevolve.diagnosis.cuda_rules import COPY_DRAM, DRAM
from kernelevolve.diagnosis.found import TIME, diagnose
from kernelevolve.diagnosis.profiler_passes import ncu_findings
from kernelevolve.errors import MachineError, RecordError
from kernelevolve.model.diagnosis import Cause
from kernelevolve.model.profile_job import ProfiledCandidate, ProfileJob, ProfileLaunch

HEAD = ["ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Context", "Stream", "Block Size", "Grid Size"]
LOG = ["==PROF== Connected to process 77 (/usr/bin/python3)", '==PROF== Profiling "ke_copy" - 0: 0%....100% - 1 pass']


def table(columns: dict[str, str], rows: list[tuple[str, dict[str, str]]]) -> str:
    """A raw page: names, units, a row per launch."""
    names = list(columns)
    lines = [[*HEAD, *names], [""] * len(HEAD) + [columns[name] for name in names]]
    for number, (kernel, values) in enumerate(rows):
        fixed = [str(number), "77", "python3", "host", kernel, "1", "7", "(256, 1, 1)", "(1056, 1, 1)"]
        lines.append([*fixed, *(values.get(name, "n/a") for name in names)])
    quoted = [",".join(f'"{cell}"' for cell in line) for line in lines]
    return "\n".join([*LOG, *quoted, "==PROF== Disconnected from process 77"]) + "\n"


def launch(function: str) -> ProfileLaunch:
    return ProfileLaunch(kernel=function, function=function, cubin="/x.cubin", grid=(200, 1, 1), block=(256, 1, 1))


def job(**candidates: list[str]) -> ProfileJob:
    made = tuple(
        ProfiledCandidate(label=label, launches=tuple(map(launch, functions)))
        for label, functions in candidates.items()
    )
    return ProfileJob(shape={"N": 1}, bytes_moved=100_000_000, arena="/x", arena_bytes=1, candidates=made)


@pytest.mark.parametrize(
    ("text", "unit", "value", "then"),
    [
        ("31,520", "nsecond", 31520.0, "ns"), ("31.52", "usecond", 31520.0, "ns"), ("0.03152", "ms", 31520.0, "ns"),
        ("31.52", "us", 31520.0, "ns"), ("1,234,567", "byte", 1234567.0, "byte"), ("1.5", "Mbyte", 1.5e6, "byte"),
        ("4.2", "Gbyte/s", 4.2e9, "byte/s"), ("2", "Kinst", 2000.0, "inst"), ("71.81", "%", 71.81, "%"),
        ("0.31", "inst/cycle", 0.31, "inst/cycle"), ("1e+06", "furlong", 1e6, "furlong"), ("0", "", 0.0, ""),
        ("-1", "", -1.0, ""),
    ],
)  # fmt: skip
def test_numbers_and_units(text: str, unit: str, value: float, then: str) -> None:
    row = ncu.parse(table({"a__b.sum": unit}, [("k", {"a__b.sum": text})]))[0]
    assert row.values["a__b.sum"].value == pytest.approx(value)
    assert (row.values["a__b.sum"].unit, row.values["a__b.sum"].source) == (then, "ncu")


@pytest.mark.parametrize("text", ["n/a", "", "nan", "inf", "(!) n/a", "-", "0x10", "1 (2; 3)"])
def test_what_is_no_number_is_unknown(text: str) -> None:
    """PE60"""
    assert ncu.parse(table({"a__b.sum": "byte"}, [("k", {"a__b.sum": text})]))[0].values == {}


def test_a_refusal_is_told_in_words() -> None:
    log = "==PROF== Connected\n==ERROR== ERR_NVGPUCTRPERM - The user does not have permission\n"
    with pytest.raises(RecordError, match="may not read the GPU's counters"):
        ncu.parse(log)
    assert ncu.refusal("==ERROR== Failed to find metric foo__bar\n") == "==ERROR== Failed to find metric foo__bar"
    assert ncu.refusal("") == "it said nothing"


def test_clocks_are_left_alone_and_only_our_ranges_are_profiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PS41"""
    (tmp_path / "ncu").write_text("#!/bin/sh\n")
    (tmp_path / "ncu").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    command = ncu.command(["a__b.sum", "c__d.sum"], log=tmp_path / "log", cold=True, child=["-m", "x"])
    assert command[command.index("--clock-control") + 1] == "none"
    assert command[command.index("--cache-control") + 1] == "all"
    assert command[command.index("--profile-from-start") + 1] == "off"
    assert command[command.index("--metrics") + 1] == "a__b.sum,c__d.sum"
    warm = ncu.command(["a__b.sum"], log=tmp_path / "log", cold=False, child=[])
    assert warm[warm.index("--cache-control") + 1] == "none"


def rows_of(*kernels: str) -> list[ncu.Row]:
    return [ncu.Row(kernel=kernel, values={}) for kernel in kernels]


def test_launches_are_told_apart_by_their_order() -> None:
    expected = [("one", ["a", "b"]), ("two", ["a"]), ("three", ["c"])]
    found = ncu.rows_by_call(rows_of("a", "b", "a"), expected)
    assert {label: [row.kernel for row in rows] for label, rows in found.items()} == {"one": ["a", "b"], "two": ["a"]}
    with pytest.raises(MachineError, match="reports the kernel c where two launched a"):
        ncu.rows_by_call(rows_of("a", "b", "c"), expected)


COLUMNS = {"gpu__time_duration.sum": "nsecond", DRAM: "%", "dram__bytes_op_read.sum": "Mbyte"}
NAMES = {**{name: name for name in COLUMNS}, "dram__bytes_read.sum": "dram__bytes_op_read.sum"}


def test_a_copy_beside_the_candidates_is_what_memory_is_held_against() -> None:
    text = table(
        COLUMNS,
        [
            ("ke_copy", {DRAM: "72.0"}),
            ("first", {"gpu__time_duration.sum": "9,000", DRAM: "20", "dram__bytes_op_read.sum": "1"}),
            ("second", {"gpu__time_duration.sum": "41,000", DRAM: "60.5", "dram__bytes_op_read.sum": "90"}),
        ],
    )
    found = ncu_findings(text, job(mine=["first", "second"], late=["third"]), NAMES)
    assert list(found) == ["mine"]
    assert found["mine"].call.get(COPY_DRAM) == 72.0
    assert [item.get(TIME) for item in found["mine"].launches] == [9.0, 41.0]
    assert found["mine"].launches[1].get("dram__bytes_read.sum") == 90e6
    diagnosis = diagnose(found["mine"])
    assert (diagnosis.cause, diagnosis.kernel, diagnosis.scope) == (Cause.DRAM_BOUND, "second", "counters")
    assert diagnosis.evidence[0].threshold == pytest.approx(0.8 * 72.0)


def test_a_time_in_an_unknown_unit_is_no_time() -> None:
    columns = {"gpu__time_duration.sum": "fortnight"}
    text = table(columns, [("ke_copy", {}), ("first", {"gpu__time_duration.sum": "9"})])
    assert ncu_findings(text, job(mine=["first"]), NAMES)["mine"].launches[0].get(TIME) is None
