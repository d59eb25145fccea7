"""A Candidate: source that claims to do a task faster."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Self

from pydantic import Field, model_validator

from kernelevolve.model.task import SourceFile
from kernelevolve.model.value import Value, canonical_json, sha256_text

MAX_FILES, MAX_BYTES = 64, 1 << 20


class Origin(Value):
    """Where a candidate came from. Not part of its identity."""

    proposer: str
    recipe: str = Field(default="", description="template or technique; what the generator mutates")
    parameters: dict[str, str] = Field(default={}, description="the recipe's settings")
    intent: str = Field(default="", description="one sentence: what this attempt tries and why")


class Candidate(Value):
    """Source files, compiler flags and a language. `id` covers what is executed, not who wrote it."""

    language: str
    files: tuple[SourceFile, ...]
    flags: tuple[str, ...] = ()
    origin: Origin

    @model_validator(mode="after")
    def _has_source(self) -> Self:
        paths = [file.path for file in self.files]
        if not paths:
            raise ValueError("a candidate needs at least one source file")
        if len(set(paths)) != len(paths):
            raise ValueError("two files have the same path")
        return self

    @property
    def id(self) -> str:
        """64 hex digits over language, files and flags."""
        data = [self.language, sorted((file.path, file.text) for file in self.files), list(self.flags)]
        return sha256_text(canonical_json(data))

    @property
    def source(self) -> str:
        """All files in one text, for reading."""
        if len(self.files) == 1:
            return self.files[0].text
        return "\n".join(f"// ---- {file.path}\n{file.text}" for file in self.files)


def oversize(files: Mapping[str, str], flags: Iterable[str] = ()) -> str:
    """Why texts by path are more than a candidate may have, names and flags counted; empty: they are not."""
    n_bytes = sum(len(text.encode(errors="surrogatepass")) for text in (*files, *files.values(), *flags))
    if len(files) <= MAX_FILES and n_bytes <= MAX_BYTES:
        return ""
    return f"{len(files)} files with {n_bytes} bytes; a candidate has at most {MAX_FILES} files and {MAX_BYTES} bytes"
