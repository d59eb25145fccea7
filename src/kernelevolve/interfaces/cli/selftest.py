"""`kernelevolve selftest`: the judge before its own corpus of attacks and honest kernels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kernelevolve.interfaces.cli.options import JsonOption, ThreadsOption

if TYPE_CHECKING:
    from rich.console import Console

    from kernelevolve.selftest.corpus import Entry
    from kernelevolve.selftest.run import Report


def selftest(
    corpus: Annotated[
        Path | None, typer.Option("--corpus", help="Folder with attacks/ and honest/. Default: the source tree's.")
    ] = None,
    only: Annotated[str, typer.Option("--only", help="Entries whose name starts with this: T, T5, F4_atomic.")] = "",
    lane: Annotated[
        str,
        typer.Option(
            "--lane",
            help="Entries of this lane (library, python, cuda, triton, cuda_python, campaign); cuda: all for a GPU.",
        ),
    ] = "",
    part: Annotated[
        str, typer.Option("--part", metavar="K/N", help="The K-th of N parts, for as many machines or GPUs.")
    ] = "1/1",
    threads: ThreadsOption = None,
    as_json: JsonOption = False,
) -> int:
    """Judge every attack and honest kernel of the corpus on this machine.

    Exit code 3 when one is judged wrongly, 4 when this machine could not judge some, or any, of them.
    """
    import os
    import secrets
    import sys
    from contextlib import closing

    from kernelevolve.farm import make_farm
    from kernelevolve.interfaces.cli.border import MACHINE, OK, REJECTED
    from kernelevolve.interfaces.cli.output import emit
    from kernelevolve.selftest.corpus import attacks, default_root, honest
    from kernelevolve.selftest.judging import Found
    from kernelevolve.selftest.run import part as part_of
    from kernelevolve.selftest.run import selftest as run
    from kernelevolve.toolchains.cache import default_cache

    root = corpus or default_root()
    number, of = _numbers(part)

    def chosen(entries: list[Entry]) -> list[Entry]:
        return part_of([one for one in entries if one.name.startswith(only) and one.is_of(lane)], number, of)

    n_threads = threads or len(os.sched_getaffinity(0))

    def tell(found: Found) -> None:
        mark = "ok   " if found.right else "WRONG"
        print(f"{mark} {found.name}: {found.said} ({found.seconds:.1f} s) {found.message[:100]}", file=sys.stderr)

    with closing(make_farm("process", n_threads=n_threads, cache_dir=default_cache())) as farm:
        report = run(
            chosen(attacks(root)), chosen(honest(root)), farm, secret=secrets.token_hex(16), n_threads=n_threads,
            tell=tell,
        )  # fmt: skip
    emit("selftest", as_json, report.model_dump(mode="json"), lambda console: _render(report, console))
    if not report.ok:
        return REJECTED
    return OK if report.found and not report.undecided else MACHINE


def _numbers(part: str) -> tuple[int, int]:
    from kernelevolve.errors import UsageError

    words = part.split("/")
    if len(words) != 2 or not all(word.isdigit() for word in words) or not 1 <= int(words[0]) <= int(words[1]):
        raise UsageError(f"--part {part}: write 2/3 for the second of three parts")
    return int(words[0]), int(words[1])


def _render(report: Report, console: Console) -> None:
    from rich import box
    from rich.table import Table

    from kernelevolve.interfaces.wording import one_line
    from kernelevolve.selftest.corpus import GROUPS

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column in ("group", "what", "attacks caught", "honest accepted"):
        table.add_column(column)
    for group, what in GROUPS.items():
        caught, accepted = report.count(honest=False, group=group), report.count(honest=True, group=group)
        cells = [f"{right} / {of}" if of else "" for right, of in (caught, accepted)]
        if any(cells):
            table.add_row(group, what, *cells)
    totals = [report.count(honest=False), report.count(honest=True)]
    table.add_section()
    table.add_row("all", "", *(f"{right} / {of}" for right, of in totals))
    console.print(table)
    for item in report.found:
        if not item.right:
            console.print(f"judged wrongly: {item.name}: {item.said} {one_line(item.message, 140)}", soft_wrap=True)
    for name, why in report.undecided.items():
        console.print(f"not judged: {name}: {one_line(why, 300)}", soft_wrap=True)
    if report.elsewhere:
        console.print(
            f"{len(report.elsewhere)} entries need a GPU, or a compiler that is not here, and were not tried",
            soft_wrap=True,
        )
