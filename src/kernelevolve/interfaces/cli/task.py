"""`kernelevolve task ...`: the operators there are, what one of them says, whether one is well formed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from kernelevolve.interfaces.cli.options import JsonOption, PlatformOption, TaskArgument
from kernelevolve.interfaces.cli.paths import WhereOption

if TYPE_CHECKING:
    from rich.console import Console

    from kernelevolve.model.admission import Admission
    from kernelevolve.model.task import Task

app = typer.Typer(help="Operators: list, show, check.", no_args_is_help=True)


@app.command("list")
def list_tasks(platform: PlatformOption = "cpu", as_json: JsonOption = False) -> int:
    """The built-in tasks for a platform."""
    from kernelevolve.errors import TaskError
    from kernelevolve.interfaces.cli.output import emit
    from kernelevolve.platforms import make_platform
    from kernelevolve.tasks import builtin_names, load_task

    kind = make_platform(platform).kind
    tasks = []
    for name in builtin_names():
        try:
            tasks.append(load_task(name, platform=kind))
        except TaskError:  # not offered for this kind of platform
            continue
    data = {"tasks": [{"name": task.name, "summary": task.summary, "family": task.family, "dtype": task.dtype,
                       "rule": task.rule.kind, "task_id": task.content_id} for task in tasks]}  # fmt: skip
    emit("task.list", as_json, data, lambda console: _render_list(tasks, console))
    return 0


@app.command("show")
def show_task(
    task: TaskArgument, platform: PlatformOption = "cpu", where: WhereOption = "", as_json: JsonOption = False
) -> int:
    """Arguments, shapes, rule and C prototype of a task."""
    from kernelevolve.interfaces.cli.output import emit
    from kernelevolve.interfaces.cli.paths import load_part
    from kernelevolve.platforms import make_platform
    from kernelevolve.toolchains.abi import prototype

    loaded = load_part(task, platform=make_platform(platform).kind, where=where)
    data = {"task_id": loaded.content_id, "prototype": prototype(loaded), "task": loaded.model_dump(mode="json")}
    emit("task.show", as_json, data, lambda console: _render_task(loaded, prototype(loaded), console))
    return 0


@app.command("check")
def check_task(
    task: TaskArgument,
    platform: PlatformOption = "cpu",
    static: Annotated[bool, typer.Option("--static", help="Only read it; do not run its reference.")] = False,
    as_shipped: Annotated[
        bool, typer.Option("--as-shipped", help="KernelBench files: with the suite's own tolerance and inputs.")
    ] = False,
    where: WhereOption = "",
    as_json: JsonOption = False,
) -> int:
    """Whether a task is well formed, does what it declares, and lets no fake answer pass. Exit code 2 when not.

    The table shows every control: fakes that leave something out must fail the task's own rule on every seed, honest
    answers must pass it.
    """
    from kernelevolve.interfaces.cli.border import OK, USAGE
    from kernelevolve.interfaces.cli.output import emit
    from kernelevolve.interfaces.cli.paths import load_part
    from kernelevolve.platforms import make_platform

    machine = make_platform(platform)
    loaded = load_part(task, platform=machine.kind, where=where, as_shipped=as_shipped)
    ran = not static and platform != "fake"
    admission = _admission(loaded) if ran else None
    void = admission.void if admission else ()
    data = {
        "task": loaded.name, "task_id": loaded.content_id, "ok": not void, "reference_ran": ran,
        "void": list(void), "admission": admission.model_dump(mode="json") if admission else None,
    }  # fmt: skip
    emit("task.check", as_json, data, lambda console: _render_check(loaded, admission, console))
    return USAGE if void else OK


def _admission(task: Task) -> Admission:
    """Have a kernel judged that refuses every shape, so that the judge runs the whole task before it says so; then put
    the controls before the task's rule. Raises TaskError for what the task declares but does not do."""
    import secrets
    from contextlib import closing

    from kernelevolve.farm import make_farm
    from kernelevolve.model.candidate import Candidate, Origin
    from kernelevolve.model.job import Job
    from kernelevolve.model.task import SourceFile
    from kernelevolve.toolchains.abi import prototype
    from kernelevolve.toolchains.cache import default_cache

    source = f'extern "C" {prototype(task)} {{ return 1; }}\n'
    candidate = Candidate(
        language="cpp", files=(SourceFile(path="refuse.cpp", text=source),), origin=Origin(proposer="task check")
    )
    job = Job(task=task, candidate=candidate, level="check", secret=secrets.token_hex(16))
    with closing(make_farm("process", cache_dir=default_cache())) as farm:
        farm.submit(job).result()
        return farm.admit(job)


def _render_check(task: Task, admission: Admission | None, console: Console) -> None:
    from rich import box
    from rich.table import Table

    from kernelevolve.interfaces.wording import one_line

    if admission is None:
        console.print(f"{task.name}: well formed (its reference was not run)", soft_wrap=True)
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column in ("answer", "must", "passed", ""):
        table.add_column(column)
    for control in admission.controls:
        verdict = "VOID" if control.fault else "same by algebra" if control.exact and control.passed else "ok"
        style = "bold red" if control.fault else ""
        must = "fail" if control.kind == "fake" else "pass"
        table.add_row(one_line(control.name), must, f"{control.passed} / {control.tried}", verdict, style=style)
    console.print(table)
    if admission.void:
        console.print(f"{task.name}: refused, nothing can be proved with it", style="bold red", soft_wrap=True)
        for reason in admission.void:
            console.print(f"  {one_line(reason, 300)}", soft_wrap=True)
        return
    console.print(f"{task.name}: admitted; its reference gives what it declares, no fake passes", soft_wrap=True)
    if admission.reducible:
        console.print(f"reducible: {', '.join(map(one_line, admission.reducible))}", soft_wrap=True)


def _render_list(tasks: list[Task], console: Console) -> None:
    from rich import box
    from rich.table import Table

    from kernelevolve.interfaces.wording import one_line

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column in ("task", "dtype", "rule"):
        table.add_column(column, no_wrap=True)
    table.add_column("what it does")
    for task in tasks:
        table.add_row(one_line(task.name), task.dtype, task.rule.kind, one_line(task.summary, 140))
    console.print(table)


def _render_task(task: Task, signature: str, console: Console) -> None:
    from rich import box
    from rich.table import Table

    from kernelevolve.interfaces.wording import domain_text, one_line, rule_text, shape_text

    console.print(f"{one_line(task.name)}: {one_line(task.summary)}", soft_wrap=True)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column in ("argument", "type", "dims", "notes"):
        table.add_column(column)
    rows: list[tuple[str, Any]] = [("in", spec) for spec in task.inputs] + [("out", spec) for spec in task.outputs]
    for kind, spec in rows:
        notes = (
            [kind]
            + ["updated in place"] * spec.in_place
            + ["static"] * spec.static
            + [f"rows {spec.pitch} elements apart"] * bool(spec.pitch)
            + [one_line(spec.description)] * bool(spec.description)
        )
        table.add_row(spec.name, spec.dtype, ", ".join(spec.dims) or "scalar", "; ".join(notes))
    console.print(table)
    console.print(f"domain   {domain_text(task)}{f' (where {task.where})' if task.where else ''}", soft_wrap=True)
    console.print(f"rule     {rule_text(task.rule)}", soft_wrap=True)
    for bucket in ("shown", "search", "sealed"):
        shapes = getattr(task.shapes, bucket)
        console.print(f"{bucket:<8} {'; '.join(shape_text(shape) for shape in shapes) or 'none'}", soft_wrap=True)
    console.print(f'\nextern "C" {signature};', soft_wrap=True)
