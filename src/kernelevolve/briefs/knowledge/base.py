"""The contract of written knowledge: a situation in, a few pieces of text out."""

from __future__ import annotations

from typing import Protocol

from kernelevolve.model.brief import Snippet
from kernelevolve.model.value import Value


class Query(Value):
    """A situation. An empty field asks for nothing; `words` are free text."""

    platform: str = ""  # cpu, cuda
    language: str = ""  # cpp, cuda, triton, ..
    bottleneck: str = ""  # a Bottleneck or a Cause
    phase: str = ""  # draft, improve, repair
    words: str = ""


class Knowledge(Protocol):
    """Rules, checked by `kernelevolve.testing.knowledge_case`:
    - the same query on the same content gives the same snippets, the best first;
    - at most `limit`, each id once; an id stays while its file and the order of its sections stay;
    - what is written for another platform, language or phase is not given;
    - no query raises, whatever is in it.
    """

    def find(self, query: Query, limit: int) -> list[Snippet]: ...
