"""Which earlier attempts the brief of a move shows. One place, so that all policies choose alike."""

from __future__ import annotations

from kernelevolve.errors import UnknownNameError
from kernelevolve.model.brief import Memory, Operator
from kernelevolve.model.events import Settings
from kernelevolve.search.stall import is_stalled
from kernelevolve.search.tree import Tree

AUTO = "auto"
MANY_CHILDREN = 2


def check_memory(settings: Settings) -> None:
    """Raises UnknownNameError for a setting that is neither `auto` nor a Memory."""
    if settings.memory not in (AUTO, *Memory):
        raise UnknownNameError("memory", settings.memory, (AUTO, *(memory.value for memory in Memory)))


def choose_memory(tree: Tree, operator: Operator, parents: tuple[int, ...]) -> Memory:
    """A draft remembers nothing and a crossing both lineages, whatever is set; the setting decides the rest. With
    `auto`: to mend a failure takes its path; during a stall nothing, so that no earlier idea anchors; a parent with
    several children takes them into account, beside its path where every step of that gained; else the path."""
    if operator is Operator.DRAFT:
        return Memory.CLEAN
    if operator is Operator.CROSS:
        return Memory.FUSE
    if tree.opened is not None and tree.opened.settings.memory != AUTO:
        return Memory(tree.opened.settings.memory)
    parent = parents[0]
    if not tree.index.usable[parent]:
        return Memory.LINEAGE
    if is_stalled(tree):
        return Memory.CLEAN
    if len(tree.index.children[parent]) >= MANY_CHILDREN:
        return Memory.BOTH if tree.index.branches.gains[parent] else Memory.SIBLINGS
    return Memory.LINEAGE
