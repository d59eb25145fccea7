"""Written knowledge that briefs quote. Adding a kind: a file with a `Knowledge`, a line in `KNOWLEDGE`, a
`KnowledgeCase`."""

from __future__ import annotations

from importlib import import_module
from typing import cast

from kernelevolve.briefs.knowledge.base import Knowledge, Query

KNOWLEDGE = {
    "none": "kernelevolve.briefs.knowledge.none:make",
    "shipped": "kernelevolve.briefs.knowledge.folder:make_shipped",
    "folder": "kernelevolve.briefs.knowledge.folder:make",
}
"""Each names a function that takes the text after the colon ("" without one)."""

__all__ = ["KNOWLEDGE", "Knowledge", "Query", "make_knowledge"]


def make_knowledge(name: str) -> Knowledge:
    """ "" and "none": nothing; "shipped": the notes that come with the package; "folder:PATH", and any other text, is
    a folder of Markdown files. Raises UsageError for a folder that does not exist."""
    kind, _, argument = name.partition(":")
    if not name:
        kind = "none"
    elif kind not in KNOWLEDGE:
        kind, argument = "folder", name
    module, _, attribute = KNOWLEDGE[kind].partition(":")
    return cast(Knowledge, getattr(import_module(module), attribute)(argument))
