"""The `kernelevolve` command: all subcommands, and the entry point."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from kernelevolve import __version__
from kernelevolve.interfaces.cli import (
    agent,
    archive,
    build,
    campaign,
    diff,
    doctor,
    evaluate,
    export,
    lineage,
    profile,
    record,
    report,
    resume,
    run,
    selftest,
    serve,
    task,
    toolchain,
    tree,
)
from kernelevolve.interfaces.cli.border import guarded

app = typer.Typer(
    name="kernelevolve", no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False,
    help="Searches for faster kernels and proves that they are.",
    epilog="Exit codes: 0 fine, 2 usage, 3 candidate rejected, 4 the machine failed, 130 interrupted.",
)  # fmt: skip
for command in (
    run.run, resume.resume, evaluate.evaluate, tree.tree, diff.diff, report.report, export.export, doctor.doctor,
    selftest.selftest, build.build, profile.profile, record.record, serve.serve, agent.agent,
    archive.archive, archive.unarchive, lineage.lineage,
):  # fmt: skip
    app.command()(command)
app.add_typer(task.app, name="task")
app.add_typer(campaign.app, name="campaign")
app.add_typer(toolchain.app, name="toolchain")


@app.callback()
def root(
    version: Annotated[bool, typer.Option("--version", help="Print the version and end.", is_eager=True)] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Print a traceback when something fails.")] = False,
) -> None:
    if version:
        print(__version__)
        raise typer.Exit


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line. Returns the exit code; prints one line per error."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a narrow terminal encoding must not end a campaign
    return guarded(
        lambda: app(arguments, standalone_mode=False, prog_name="kernelevolve"), arguments, command=_command(arguments)
    )


def _command(arguments: Sequence[str]) -> str:
    """ "task.list" for `task list ...`; "error" when no such command exists."""
    groups = {"task": ("list", "show", "check"), "campaign": ("list", "show"), "toolchain": ("list", "install")}
    words = [word for word in arguments if not word.startswith("-")][:2]
    if words and words[0] in groups:
        return f"{words[0]}.{words[1]}" if words[1:] and words[1] in groups[words[0]] else "error"
    names = {info.callback.__name__ for info in app.registered_commands if info.callback}
    return words[0] if words and words[0] in names else "error"


if __name__ == "__main__":
    sys.exit(main())
