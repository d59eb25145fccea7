"""`kernelevolve profile`: why kernels for a GPU are not faster."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kernelevolve.interfaces.cli.options import DEFAULT_STORE, JsonOption, StoreOption

if TYPE_CHECKING:
    from rich.console import Console

    from kernelevolve.campaign.profile import Profiled, Wanted
    from kernelevolve.model.platform import PlatformFacts
    from kernelevolve.model.task import Shape, Task


def profile(
    what: Annotated[
        str, typer.Argument(help="A campaign (its best candidates), or with SOURCE a task.", metavar="CAMPAIGN|TASK")
    ],
    sources: Annotated[
        list[Path] | None, typer.Argument(help="Kernels of your own for the task.", metavar="SOURCE")
    ] = None,
    platform: Annotated[str, typer.Option("--platform", help="The machine: cuda.")] = "cuda",
    shape: Annotated[
        str | None, typer.Option("--shape", help="AXIS=SIZE,... Default: the slowest measured one, else the first.")
    ] = None,
    best: Annotated[int, typer.Option("--best", min=1, help="How many candidates of a campaign.")] = 3,
    depth: Annotated[
        str, typer.Option("--depth", help="code (no GPU), counters, or full: every counter and profiler.")
    ] = "counters",
    everything: Annotated[
        bool, typer.Option("--all", help="Also profile candidates that have nothing left to win.")
    ] = False,
    store: StoreOption = DEFAULT_STORE,
    as_json: JsonOption = False,
) -> int:
    """Say what bounds each kernel, with numbers: counted bytes, machine code, then the device's counters."""
    from kernelevolve.campaign.profile import profile as look
    from kernelevolve.diagnosis.profiler_passes import depth_of
    from kernelevolve.interfaces.cli.output import emit
    from kernelevolve.toolchains.cache import default_cache

    chosen = depth_of(depth)
    wanted, facts = _of_sources(what, sources, platform, shape) if sources else _of_campaign(what, store, shape, best)
    facts = _facts(facts, platform, needed=chosen != "code")
    found = look(wanted, facts=facts, depth=chosen, cache=default_cache(), everything=everything)
    data = {
        "task": wanted.task.name, "shape": found.shape,
        "diagnoses": {label: item.model_dump(mode="json") for label, item in found.diagnoses.items()},
    }  # fmt: skip
    emit("profile", as_json, data, lambda console: _render(found, console))
    return 0


def _of_sources(
    task_name: str, sources: list[Path], platform: str, shape: str | None
) -> tuple[Wanted, PlatformFacts | None]:
    from kernelevolve.campaign.profile import Wanted
    from kernelevolve.interfaces.cli.candidates import read_candidate
    from kernelevolve.platforms import make_platform
    from kernelevolve.tasks import load_task

    task = load_task(task_name, platform=make_platform(platform).kind)
    candidates = {}
    for path in sources:
        label = path.name if path.name not in candidates else str(path)
        candidates[label] = read_candidate(path)
    default = (task.shapes.search or task.shapes.shown)[0]
    return Wanted(task=task, shape=_shape(shape, task) or default, candidates=candidates), None


def _of_campaign(campaign: str, store: Path, shape: str | None, best: int) -> tuple[Wanted, PlatformFacts | None]:
    """The best candidates, on the shape on which the best of them takes longest."""
    from kernelevolve.campaign.profile import Wanted
    from kernelevolve.errors import UsageError
    from kernelevolve.interfaces.cli.session import existing_store
    from kernelevolve.queries import best_rows, load_tree

    opened_store = existing_store(store)
    tree = load_tree(opened_store, campaign)
    nodes = [tree.node(row.step) for row in best_rows(opened_store, campaign, limit=best)]
    timed = [(node, node.verdict.timing) for node in nodes if node.verdict is not None and node.verdict.timing]
    if tree.opened is None or not timed:
        raise UsageError(f"campaign {campaign} has no correct candidate to profile")
    task = tree.opened.task
    slowest = max(timed[0][1].shapes, key=lambda item: item.latency_us).shape
    chosen = _shape(shape, task) or slowest
    latency = {
        f"step {node.step}": item.latency_us for node, timing in timed for item in timing.shapes if item.shape == chosen
    }
    candidates = {f"step {node.step}": node.candidate for node, _ in timed}
    return Wanted(task=task, shape=chosen, candidates=candidates, latency_us=latency), tree.opened.facts


def _facts(known: PlatformFacts | None, platform: str, *, needed: bool) -> PlatformFacts:
    """This machine's where it must be there; else those of the campaign, or none."""
    from kernelevolve.model.platform import PlatformFacts
    from kernelevolve.platforms import make_platform

    if needed:
        return make_platform(platform).facts()
    return known or PlatformFacts(name=platform, kind=platform)


def _shape(text: str | None, task: Task) -> Shape | None:
    """Raises UsageError."""
    from kernelevolve.errors import UsageError

    if text is None:
        return None
    pairs = [item.partition("=") for item in text.replace(" ", "").split(",")]
    wanted = {axis.name: axis for axis in task.axes if axis.role == "shape"}
    if any(not size.isdecimal() for _, _, size in pairs) or {name for name, _, _ in pairs} != set(wanted):
        raise UsageError(f"--shape {text}: give every axis one size, as in {','.join(f'{name}=64' for name in wanted)}")
    shape = {name: int(size) for name, _, size in pairs}
    outside = [name for name, size in shape.items() if not wanted[name].admits(size)]
    if outside:
        raise UsageError(f"--shape {text}: {outside[0]} is outside the task's domain")
    return shape


def _render(found: Profiled, console: Console) -> None:
    from kernelevolve.interfaces.wording import one_line, shape_text

    console.print(f"shape {shape_text(found.shape)}")
    for label, item in found.diagnoses.items():
        cause = item.cause.value if item.cause is not None else item.bottleneck.value
        also = f" (also {', '.join(other.value for other in item.also)})" if item.also else ""
        where = f", kernel {item.kernel}" if item.kernel else ""
        console.print(one_line(f"{label}{where}: {cause.replace('_', ' ')}{also}"), soft_wrap=True)
        console.print(one_line(f"  {item.advice}"), soft_wrap=True)
        for evidence in item.evidence:
            limit = f", held against {evidence.threshold:.4g}" if evidence.threshold is not None else ""
            note = f" ({evidence.note})" if evidence.note else ""
            number = f"{evidence.value:.5g} {evidence.unit}".strip()
            text = f"  {evidence.name} {number}{limit}{note} [{evidence.source or 'judge'}]"
            console.print(one_line(text), soft_wrap=True)
    for gap in found.unknown:
        console.print(one_line(f"not known: {gap.what}: {gap.why}"), soft_wrap=True)
