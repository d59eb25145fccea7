"""No knowledge: briefs quote nothing."""

from __future__ import annotations

from kernelevolve.briefs.knowledge.base import Query
from kernelevolve.errors import UsageError
from kernelevolve.model.brief import Snippet


def make(argument: str) -> NoKnowledge:
    if argument:
        raise UsageError(f"knowledge 'none' takes nothing after a colon, got '{argument}'")
    return NoKnowledge()


class NoKnowledge:
    def find(self, query: Query, limit: int) -> list[Snippet]:
        return []
