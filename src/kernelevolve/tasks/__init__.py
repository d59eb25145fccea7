"""Where tasks come from. Adding a format: a file with a `TaskSource`, a line in `FORMATS`.

Loading reads text. The one exception, KernelBench, runs the file in a confined child process; nothing a task
brings along ever runs in this process.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, cast

from kernelevolve.errors import UnknownNameError
from kernelevolve.tasks.reading import exists, parse_python, read_text, task_error

if TYPE_CHECKING:  # the probe's child process imports this package and must stay light
    from kernelevolve.model.task import Task
    from kernelevolve.tasks.base import TaskSource

FORMATS = {
    "native": "kernelevolve.tasks.native:NativeSource",
    "kernelbench": "kernelevolve.tasks.kernelbench:KernelBenchSource",
    "flashinfer_trace": "kernelevolve.tasks.flashinfer_trace:FlashinferTraceSource",
}
BUILTIN = Path(__file__).parent / "builtin"
_NO_FORMAT = (
    "not a task: expected a '# /// task' comment block, a KernelBench file (class Model and get_inputs), "
    "a flashinfer-trace definition (.json) or a folder with task.toml"
)


def builtin_names() -> tuple[str, ...]:
    return tuple(sorted(path.parent.name for path in BUILTIN.glob("*/task.toml")))


def make_source(format_name: str) -> TaskSource:
    """Raises UnknownNameError."""
    if format_name not in FORMATS:
        raise UnknownNameError("task format", format_name, tuple(FORMATS))
    module, _, attribute = FORMATS[format_name].partition(":")
    return cast("TaskSource", getattr(import_module(module), attribute)())


def load_task(reference: str, *, platform: str = "cpu", as_shipped: bool = False) -> Task:
    """A built-in name, a folder with a `task.toml`, a Python file (native or KernelBench) or a flashinfer-trace
    definition (.json), specialised for one platform kind. `as_shipped`: a foreign suite's own tolerance and inputs,
    where its format has any.

    Raises TaskError with one line per fault, UnknownNameError for a plain name that is neither built in nor a
    path, ToolMissingError when a KernelBench file needs PyTorch and it is absent.
    """
    if reference in builtin_names():
        return make_source("native").load(BUILTIN / reference, platform=platform)
    path = Path(reference)
    if not exists(path):
        if path.name == reference and path.suffix not in (".py", ".json", ".toml"):
            raise UnknownNameError("task", reference, builtin_names())
        raise task_error(reference, ["there is no such file or folder"])
    if path.name == "task.toml":
        path = path.parent
    for name in FORMATS:
        source = make_source(name)
        if source.matches(path):
            if as_shipped and name == "kernelbench":
                from kernelevolve.tasks.kernelbench import KernelBenchSource

                source = KernelBenchSource(as_shipped=True)
            return source.load(path, platform=platform)
    if path.is_dir():
        raise task_error(reference, ["the folder has no task.toml; a task is task.toml + reference.py"])
    faults: list[str] = []
    text = read_text(path, path.name, faults)
    if text is not None and path.suffix == ".py":
        parse_python(text, path.name, faults)
    raise task_error(reference, faults or [_NO_FORMAT])
