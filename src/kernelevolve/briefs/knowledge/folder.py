"""A folder of Markdown files as knowledge: filtered by tags, ranked by words (BM25). No vectors, no index on disk.

A file may begin with tags; what it does not tag, it holds for:

    ---
    platform: cuda
    language: cuda triton
    bottleneck: memory dram_bound
    phase: improve
    ---
    # Title
    ## First section

Each heading of the first or second level starts a section; a section is what is found. Its id is the file's path and
the number of the section, from 1.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from kernelevolve.briefs.knowledge.base import Query
from kernelevolve.briefs.knowledge.ranking import Ranking, words_of
from kernelevolve.errors import UsageError
from kernelevolve.model.brief import Snippet

SHIPPED = Path(__file__).parents[2] / "knowledge"
STRICT = ("platform", "language", "phase")
"""Tags that must fit. A bottleneck's tag only ranks: the note for another one is better than none."""
KEYS = (*STRICT, "bottleneck")
MAX_FILES, MAX_FILE_BYTES, MAX_SECTION = 5000, 1 << 20, 6000
"""A longer section, in characters, is cut at a line and says so."""
WEIGHTS = {"bottleneck": 10.0, "phase": 2.0, "language": 0.5, "platform": 0.5}
"""What a tag that fits adds to the rank of the words."""
_HEADING = re.compile(r"^(#{1,2}) +(.+?) *#*$")
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")


def make(argument: str) -> FolderKnowledge:
    folder = Path(argument)
    if not argument or not folder.is_dir():
        raise UsageError(f"knowledge '{argument}' is no folder; give a folder of Markdown files, 'shipped' or 'none'")
    return FolderKnowledge(folder)


def make_shipped(argument: str) -> FolderKnowledge:
    if argument:
        raise UsageError(f"knowledge 'shipped' takes nothing after a colon, got '{argument}'")
    return FolderKnowledge(SHIPPED)


@dataclass(frozen=True, kw_only=True)
class Section:
    snippet: Snippet
    tags: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def fits(self, query: Query) -> bool:
        return all(not (asked := getattr(query, key)) or asked in self.tags.get(key, (asked,)) for key in STRICT)

    def merit(self, query: Query) -> float:
        return sum(WEIGHTS[key] for key, tags in self.tags.items() if getattr(query, key) in tags)


class FolderKnowledge:
    """Read once, at the first question. Links out of the folder, files that are too large and those that are not
    UTF-8 are passed over."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def find(self, query: Query, limit: int) -> list[Snippet]:
        wanted = words_of(" ".join((query.words, query.bottleneck.replace("_", " "), query.language)))
        scored = []
        for number, section in enumerate(self._sections):
            if not section.fits(query):
                continue
            score = section.merit(query) + self._ranking.score(number, wanted)
            if score > 0:
                scored.append((-score, section.snippet.id, section.snippet))
        return [snippet for _, _, snippet in sorted(scored, key=lambda item: item[:2])[: max(0, limit)]]

    @cached_property
    def _sections(self) -> list[Section]:
        root = self._folder.resolve()
        paths = [path for path in sorted(root.rglob("*.md")) if path.is_file() and path.resolve().is_relative_to(root)]
        return [found for path in paths[:MAX_FILES] for found in _read(path, path.relative_to(root).as_posix())]

    @cached_property
    def _ranking(self) -> Ranking:
        return Ranking([(item.snippet.title, item.snippet.text) for item in self._sections])


def _read(path: Path, name: str) -> list[Section]:
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            return []
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        return []
    tags, body = _front_matter(text)
    return [
        Section(snippet=Snippet(id=f"{name}#{number}", title=title, text=_cut(part)), tags=tags)
        for number, (title, part) in enumerate(_split(body, path.stem), 1)
    ]


def _front_matter(text: str) -> tuple[dict[str, frozenset[str]], str]:
    """Tags, and the rest. A key that is not known is no tag."""
    lines = text.split("\n")
    if lines[0].strip() != "---" or "---" not in (later := [line.strip() for line in lines[1:]]):
        return {}, text
    end = later.index("---") + 1
    tags = {}
    for line in lines[1:end]:
        key, _, value = line.partition(":")
        if key.strip() in KEYS and value.strip():
            tags[key.strip()] = frozenset(re.split(r"[\s,\[\]]+", value.strip())) - {""}
    return tags, "\n".join(lines[end + 1 :])


def _split(body: str, stem: str) -> Iterator[tuple[str, str]]:
    """(title, text) of each section that has text. Headings within fenced code are code."""
    titles, lines, closing = [stem.replace("_", " ")], list[str](), ""
    for line in [*body.split("\n"), None]:
        heading = None if line is None or closing else _HEADING.match(line)
        if line is None or heading:
            if text := "\n".join(lines).strip():
                yield ": ".join(titles), text
            lines = []
        if heading:
            titles = [heading[2]] if len(heading[1]) == 1 else [titles[0], heading[2]]
        elif line is not None:
            lines.append(line)
            if mark := _FENCE.match(line):
                closing = "" if closing and line.strip().startswith(closing) else closing or mark[1]


def _cut(text: str) -> str:
    if len(text) <= MAX_SECTION:
        return text
    kept = text[:MAX_SECTION].rpartition("\n")[0] or text[:MAX_SECTION]
    return f"{kept}\n[... cut here: {len(text) - len(kept)} of {len(text)} characters left out]"
