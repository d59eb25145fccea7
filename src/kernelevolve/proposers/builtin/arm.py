"""An arm: one way to write the task, with settings. The proposer chooses an arm and a setting for each knob."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from kernelevolve.model.brief import Attempt
from kernelevolve.model.candidate import Candidate, Origin
from kernelevolve.model.launch import FILE_NAME
from kernelevolve.model.platform import PlatformFacts
from kernelevolve.model.task import SourceFile, Task
from kernelevolve.proposers.builtin.flags import flag_knobs, from_flags, to_flags
from kernelevolve.proposers.builtin.recipe import Knob, Recipe

PROPOSER = "builtin"
THREADS = "threads"
Settings = dict[str, str]
"""Knob name -> value; one entry for every knob of the arm."""


@dataclass(frozen=True, kw_only=True)
class Written:
    files: tuple[SourceFile, ...]
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Arm:
    """`write` turns settings into source; flag knobs are added by `candidate`."""

    title: str
    summary: str
    knobs: tuple[Knob, ...]
    write: Callable[[Mapping[str, str]], Written]
    language: str = "cpp"

    @property
    def short(self) -> str:
        return self.title.rpartition("/")[2] or "parent"

    def knob(self, name: str) -> Knob | None:
        return next((knob for knob in self.knobs if knob.name == name), None)

    def defaults(self) -> Settings:
        return {knob.name: knob.default for knob in self.knobs}

    def complete(self, partial: Mapping[str, str]) -> Settings:
        """Defaults, overruled by those settings this arm knows."""
        return {
            knob.name: partial[knob.name] if partial.get(knob.name) in knob.values else knob.default
            for knob in self.knobs
        }

    def candidate(self, settings: Mapping[str, str], intent: str = "") -> Candidate:
        written = self.write(settings)
        return Candidate(
            language=self.language,
            files=written.files,
            flags=(*written.flags, *to_flags(settings)),
            origin=Origin(proposer=PROPOSER, recipe=self.title, parameters=dict(settings), intent=intent),
        )


def recipe_arm(recipe: Recipe, task: Task, facts: PlatformFacts) -> Arm:
    """The recipe's own knobs; on a CPU also threads where it uses them, and compiler flags."""
    if recipe.language != "cpp":
        return _device_arm(recipe, task)
    knobs = recipe.knobs + thread_knobs(recipe.source, facts) + flag_knobs(task, facts, fast_math=recipe.fast_math)

    def write(settings: Mapping[str, str]) -> Written:
        names = [knob.name for knob in recipe.knobs]
        text = defines({name: settings[name] for name in names}, settings) + recipe.source
        return Written(files=(SourceFile(path=f"{task.entry}.cpp", text=text),))

    return Arm(title=recipe.title, summary=recipe.summary, knobs=knobs, write=write)


def _device_arm(recipe: Recipe, task: Task) -> Arm:
    """Knobs are constants of the launch plan; CUDA reads them, and the task's dtype, as macros too."""
    name = "kernel.cu" if recipe.language == "cuda" else "kernel.py"

    def write(settings: Mapping[str, str]) -> Written:
        constants = "".join(f'\n[[constant]]\nname = "{k}"\nvalue = {v}\n' for k, v in settings.items())
        head = defines({f"KE_DTYPE_{task.dtype}": "1", **settings}, {}) if recipe.language == "cuda" else ""
        return Written(
            files=(
                SourceFile(path=name, text=head + recipe.source),
                SourceFile(path=FILE_NAME, text=recipe.plan.rstrip() + "\n" + constants),
            )
        )

    return Arm(
        title=f"{recipe.title}.{recipe.language}", summary=recipe.summary, knobs=recipe.knobs, write=write,
        language=recipe.language,
    )  # fmt: skip


def thread_knobs(source: str, facts: PlatformFacts) -> tuple[Knob, ...]:
    if "KE_THREADS" not in source:
        return ()
    values = ("1",) if facts.n_cores == 1 else (str(facts.n_cores), "1")
    return (Knob(name=THREADS, values=values),)


def defines(macros: Mapping[str, str], settings: Mapping[str, str]) -> str:
    """One `#define` per macro, and KE_THREADS when the arm has that knob."""
    lines = [f"#define {name} {value}" for name, value in macros.items()]
    if THREADS in settings:
        lines.append(f"#define KE_THREADS {settings[THREADS]}")
    return "".join(line + "\n" for line in lines)


def foreign_arm(parent: Candidate, task: Task, facts: PlatformFacts) -> Arm:
    """An arm around source that is not ours: only compiler flags can be changed, where we know the compiler."""
    if parent.language != "cpp":
        same = Written(files=parent.files, flags=parent.flags)
        return Arm(title=parent.origin.recipe, summary="", knobs=(), write=lambda _: same, language=parent.language)
    _, rest = from_flags(parent.flags)

    def write(settings: Mapping[str, str]) -> Written:
        return Written(files=parent.files, flags=rest)

    return Arm(title=parent.origin.recipe, summary="", knobs=flag_knobs(task, facts), write=write)


def settings_of(attempt: Attempt, arm: Arm) -> Settings | None:
    """The settings with which `arm` writes exactly this attempt; None when it does not."""
    candidate = attempt.candidate
    if candidate.origin.recipe != arm.title or candidate.language != arm.language:
        return None
    settings = arm.complete(candidate.origin.parameters)
    return settings if arm.candidate(settings).id == candidate.id else None
