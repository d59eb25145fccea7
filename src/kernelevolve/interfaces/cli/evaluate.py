"""`kernelevolve evaluate`: judge one kernel of your own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kernelevolve.interfaces.cli.options import (
    BaselineOption,
    JsonOption,
    LanguageOption,
    PlatformOption,
    TaskArgument,
    ThreadsOption,
)
from kernelevolve.interfaces.cli.paths import WhereOption

if TYPE_CHECKING:
    from rich.console import Console

    from kernelevolve.model.verdict import Verdict


def evaluate(
    task: TaskArgument,
    candidate: Annotated[
        Path, typer.Argument(help="A .cpp, .cu or .py file, or a folder of sources and headers.", metavar="CANDIDATE")
    ],
    platform: PlatformOption = "cpu",
    language: LanguageOption = "",
    threads: ThreadsOption = None,
    baseline: BaselineOption = None,
    where: WhereOption = "",
    as_json: JsonOption = False,
) -> int:
    """Check and measure one kernel as a finalist would be. Exit code 3 when it is rejected."""
    import secrets
    from contextlib import closing

    from kernelevolve.farm import make_farm
    from kernelevolve.interfaces.cli.border import OK, REJECTED
    from kernelevolve.interfaces.cli.candidates import read_baselines, read_candidate
    from kernelevolve.interfaces.cli.output import emit
    from kernelevolve.interfaces.cli.paths import load_part
    from kernelevolve.interfaces.cli.session import usable_cores
    from kernelevolve.model.job import Job
    from kernelevolve.platforms import make_platform
    from kernelevolve.toolchains.cache import default_cache

    machine = make_platform(platform)
    n_threads = threads or usable_cores()
    job = Job(
        task=load_part(task, platform=machine.kind, where=where),
        candidate=read_candidate(candidate, language=language), level="confirm",
        user_baselines=read_baselines(baseline or []), n_threads=n_threads, secret=secrets.token_hex(16),
    )  # fmt: skip
    name = "fake" if platform == "fake" else "process"
    with closing(make_farm(name, n_threads=n_threads, cache_dir=default_cache())) as farm:
        verdict = farm.submit(job).result()
    data = {
        "task": job.task.name, "task_id": verdict.task_id, "candidate_id": verdict.candidate_id,
        "correct": verdict.correct, "verdict": verdict.model_dump(mode="json"),
    }  # fmt: skip
    emit("evaluate", as_json, data, lambda console: _render(verdict, console))
    return OK if verdict.correct else REJECTED


def _render(verdict: Verdict, console: Console) -> None:
    from rich.text import Text

    from kernelevolve.interfaces.cli.summary import TITLES, render_timing
    from kernelevolve.interfaces.wording import interval, one_line, printable, shape_text, times

    style = "bold green" if verdict.correct else "bold red"
    console.print(Text(f"{verdict.outcome.value.replace('_', ' ')} (stage {verdict.stage.value})", style=style))
    if verdict.message:
        console.print(one_line(verdict.message), soft_wrap=True)
    for message in verdict.compile_messages:
        place = f"{message.file}:{message.line}" if message.line else message.file
        console.print(one_line(f"  {place}: {message.severity}: {message.message}"), soft_wrap=True)
    if wrong := verdict.mismatch:
        where = f"{wrong.tensor}[{', '.join(map(str, wrong.first_index))}] at {shape_text(wrong.shape)}"
        values = f"got {wrong.got}, expected {wrong.expected}; " if wrong.got else ""  # not told of timed calls
        text = f"  {where}: {values}{wrong.n_wrong} of {wrong.n_total} are wrong"
        console.print(one_line(text), soft_wrap=True)
    if verdict.output:
        console.print(f"it printed:\n{printable(verdict.output)}", soft_wrap=True)
    if timing := verdict.timing:
        console.print(
            f"{times(timing.speedup)} [{interval(timing.low, timing.high)}] against the faster baseline of each shape"
        )
        render_timing(timing, console, title=TITLES.get(timing.level, timing.level))
    isolation = ", ".join(map(one_line, verdict.isolation)) or "none"
    console.print(
        f"{verdict.n_checks} compared calls; lane {verdict.lane.replace('_', ' ')}; isolation: {isolation}",
        soft_wrap=True,
    )
