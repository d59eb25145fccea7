"""`kernelevolve build`: compile here what is to run elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kernelevolve.interfaces.cli.options import JsonOption, LanguageOption, TaskArgument

if TYPE_CHECKING:
    from rich.console import Console

    from kernelevolve.toolchains.base import Toolchain

BUILD_TIMEOUT_S = 300.0


def build(
    task: TaskArgument,
    sources: Annotated[
        list[Path], typer.Argument(help="Kernels: files with their launch.toml, or folders.", metavar="SOURCE...")
    ],
    out: Annotated[Path, typer.Option("--out", help="Folder of the artifacts.", metavar="DIR")],
    platform: Annotated[str, typer.Option("--platform", help="The machine it will run on: cuda.")] = "cuda",
    language: LanguageOption = "",
    as_json: JsonOption = False,
) -> int:
    """Compile device code without a device. Exit code 3 when a kernel does not compile.

    Where the compiler is missing, KERNELEVOLVE_ARTIFACTS=DIR makes the judge take the artifacts from there: they are
    found by the candidate's content, so what is judged is what was compiled.
    """
    from kernelevolve.interfaces.cli.border import OK, REJECTED
    from kernelevolve.interfaces.cli.candidates import read_candidate
    from kernelevolve.interfaces.cli.output import emit
    from kernelevolve.model.verdict import CompileMessage
    from kernelevolve.platforms import make_platform
    from kernelevolve.tasks import load_task
    from kernelevolve.toolchains import make_toolchain
    from kernelevolve.toolchains.base import Artifact
    from kernelevolve.toolchains.cache import default_cache
    from kernelevolve.toolchains.shipped import ship

    loaded = load_task(task, platform=make_platform(platform).kind)
    rows: list[dict[str, Any]] = []
    for source in sources:
        candidate = read_candidate(source, language=language)
        toolchain = make_toolchain(candidate.language, cache=default_cache())
        row: dict[str, Any] = {"source": str(source), "language": candidate.language, "candidate_id": candidate.id}
        refusal = _not_compiled(toolchain) or toolchain.inspect(loaded, candidate)
        if refusal is not None:
            rows.append({**row, "record": "", "messages": [CompileMessage(file="", message=refusal).model_dump()]})
            continue
        built = toolchain.build(loaded, candidate, timeout_s=BUILD_TIMEOUT_S)
        record = str(ship(built, out, candidate.language, loaded, candidate)) if isinstance(built, Artifact) else ""
        rows.append({**row, "record": record, "messages": [message.model_dump() for message in built.messages]})
    emit("build", as_json, {"task": loaded.name, "built": rows}, lambda console: _render(rows, console))
    return OK if all(row["record"] for row in rows) else REJECTED


def _not_compiled(toolchain: Toolchain) -> str | None:
    if toolchain.lane == "device_code":
        return None
    return f"{toolchain.language} has no device code to compile ahead; for device code in .py say --language"


def _render(rows: list[dict[str, Any]], console: Console) -> None:
    from kernelevolve.interfaces.wording import one_line

    for row in rows:
        console.print(f"{'built' if row['record'] else 'failed':<8}{row['source']} {row['record']}", soft_wrap=True)
        for message in row["messages"]:
            place = f"{message['file']}:{message['line']}: " if message["file"] and message["line"] else ""
            console.print("        " + one_line(f"{place}{message['severity']}: {message['message']}"), soft_wrap=True)
