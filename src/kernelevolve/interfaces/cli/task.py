"""`kernelevolve task ...`: the operators there are, what one of them says, whether one is well formed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from kernelevolve.interfaces.cli.options import JsonOption, PlatformOption, TaskArgument

if TYPE_CHECKING:
    from rich.console import Console

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
def show_task(task: TaskArgument, platform: PlatformOption = "cpu", as_json: JsonOption = False) -> int:
    """Arguments, shapes, rule and C prototype of a task."""
    from kernelevolve.interfaces.cli.output import emit
    from kernelevolve.platforms import make_platform
    from kernelevolve.tasks import load_task
    from kernelevolve.toolchains.abi import prototype

    loaded = load_task(task, platform=make_platform(platform).kind)
    data = {"task_id": loaded.content_id, "prototype": prototype(loaded), "task": loaded.model_dump(mode="json")}
    emit("task.show", as_json, data, lambda console: _render_task(loaded, prototype(loaded), console))
    return 0


@app.command("check")
def check_task(
    task: TaskArgument,
    platform: PlatformOption = "cpu",
    static: Annotated[bool, typer.Option("--static", help="Only read it; do not run its reference.")] = False,
    as_json: JsonOption = False,
) -> int:
    """Whether a task is well formed and its reference does what the task declares. One line per fault, exit code 2."""
    from kernelevolve.interfaces.cli.output import emit
    from kernelevolve.platforms import make_platform
    from kernelevolve.tasks import load_task

    machine = make_platform(platform)
    loaded = load_task(task, platform=machine.kind)
    ran = not static and platform != "fake"
    if ran:
        _run_reference(loaded)
    data = {"task": loaded.name, "task_id": loaded.content_id, "ok": True, "reference_ran": ran}
    what = "well formed, and its reference gives what it declares" if ran else "well formed (its reference was not run)"
    emit("task.check", as_json, data, lambda console: console.print(f"{loaded.name}: {what}", soft_wrap=True))
    return 0


def _run_reference(task: Task) -> None:
    """Have a kernel judged that refuses every shape: the judge runs the whole task before it says so.

    Raises TaskError for what the task declares but does not do.
    """
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
            + [one_line(spec.description)] * bool(spec.description)
        )
        table.add_row(spec.name, spec.dtype, ", ".join(spec.dims) or "scalar", "; ".join(notes))
    console.print(table)
    console.print(f"domain   {domain_text(task)}", soft_wrap=True)
    console.print(f"rule     {rule_text(task.rule)}", soft_wrap=True)
    for bucket in ("shown", "search", "sealed"):
        shapes = getattr(task.shapes, bucket)
        console.print(f"{bucket:<8} {'; '.join(shape_text(shape) for shape in shapes) or 'none'}", soft_wrap=True)
    console.print(f'\nextern "C" {signature};', soft_wrap=True)
