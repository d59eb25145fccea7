"""How a command is started: a TOML file.

argv = ["my-agent", "--prompt-file", "{brief}"]    placeholders: see PLACEHOLDERS
name = "my-agent"                  by default the file's name; candidates are counted under command:NAME
timeout_s = 600
environment = ["MY_AGENT_KEY"]     variables it may see, besides PATH, HOME and LANG
[set]                              variables with a value of their own
NO_COLOR = "1"
[cost]                             the most that one run takes; without it a run counts as free
usd = 0.50
tokens = 200000
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path

from pydantic import Field, ValidationError, field_validator

from kernelevolve.errors import UsageError
from kernelevolve.model.value import Value, explain

ALWAYS = ("PATH", "HOME", "LANG")
PLACEHOLDERS = {
    "brief": "the file with the question",
    "answer": "the folder for what is handed in",
    "work": "the scratch folder, also the current one",
    "n": "how many candidates are wanted",
    "seed": "a number, another one for each question",
    "here": "the folder of the TOML file",
}
MAX_SPEC_BYTES = 64 * 1024
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_PLACEHOLDER = re.compile(r"\{([A-Za-z_]+)\}")


class Cost(Value):
    """The most that one run can take. Dollars unknown: the limit on tokens protects alone."""

    usd: float | None = Field(default=None, ge=0)
    tokens: int = Field(default=0, ge=0)


class CommandSpec(Value):
    argv: tuple[str, ...] = Field(min_length=1)
    name: str = Field(default="", pattern=r"^[A-Za-z0-9_.-]{0,64}$")
    timeout_s: float = Field(default=600.0, gt=0, le=86_400)
    environment: tuple[str, ...] = ()
    set: dict[str, str] = {}
    cost: Cost | None = None
    here: str = Field(default="", exclude=True, description="folder of the TOML file; not part of what is asked")

    @field_validator("argv")
    @classmethod
    def _known_placeholders(cls, argv: tuple[str, ...]) -> tuple[str, ...]:
        unknown = sorted({name for word in argv for name in _PLACEHOLDER.findall(word)} - PLACEHOLDERS.keys())
        if unknown:
            raise ValueError(f"placeholder {{{unknown[0]}}} is unknown; known: {', '.join(PLACEHOLDERS)}")
        if not argv[0]:
            raise ValueError("the first word, the program, is empty")
        if any("\0" in word for word in argv):
            raise ValueError("a word holds a zero byte")
        return argv

    @field_validator("set")
    @classmethod
    def _variables(cls, values: dict[str, str]) -> dict[str, str]:
        wrong = [name for name, value in values.items() if not _VARIABLE.fullmatch(name) or "\0" in value]
        if wrong:
            raise ValueError(
                f"'{wrong[0]}' is no variable: letters, digits and _ make a name, no value has a zero byte"
            )
        return values

    def words(self, places: Mapping[str, str]) -> list[str]:
        """The arguments with their placeholders filled in, once: a value is never read for placeholders again."""
        known = {**places, "here": self.here}
        return [_PLACEHOLDER.sub(lambda match: known[match[1]], word) for word in self.argv]

    def variables(self, environ: Mapping[str, str]) -> dict[str, str]:
        """What the command sees of the environment. A variable that is not there is left out."""
        passed = {name: environ[name] for name in (*ALWAYS, *self.environment) if name in environ}
        return {**passed, **self.set}


def read_spec(path: Path) -> CommandSpec:
    """Raises UsageError when the file cannot be read or says something that it should not."""
    try:
        if path.stat().st_size > MAX_SPEC_BYTES:
            raise UsageError(f"{path}: larger than {MAX_SPEC_BYTES} bytes; this is no command's file")
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {path}: {error}") from error
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path}: not TOML: {error}") from error
    if "here" in data:
        raise UsageError(f"{path}: here: is not for this file to say")
    try:
        spec = CommandSpec.model_validate(data)
    except ValidationError as error:
        raise UsageError(f"{path}: {explain(error)}") from error
    name = spec.name or re.sub(r"[^A-Za-z0-9_.-]", "_", path.stem)[:64]
    return spec.model_copy(update={"name": name, "here": str(path.resolve().parent)})
