from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

from kernelevolve.briefs.knowledge import KNOWLEDGE, Knowledge, Query, make_knowledge
from kernelevolve.briefs.knowledge.folder import SHIPPED, FolderKnowledge
from kernelevolve.briefs.query import query_of
from kernelevolve.errors import UsageError
from kernelevolve.model.diagnosis import Bottleneck, Cause
from kernelevolve.testing.knowledge_case import KnowledgeCase
from tests.briefs.trees import golden_cases

NOTE = (
    "---\nplatform: cuda\nbottleneck: uncoalesced\n---\n# Reading\n## Sectors\nA warp reads sectors.\n## Banks\nbanks\n"
)


class TestShipped(KnowledgeCase):
    def make_knowledge(self) -> Knowledge:
        return make_knowledge("shipped")


class TestNone(KnowledgeCase):
    empty = True

    def make_knowledge(self) -> Knowledge:
        return make_knowledge("")


class TestFolder(KnowledgeCase):
    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path_factory: pytest.TempPathFactory) -> None:
        self.folder = tmp_path_factory.mktemp("notes")
        (self.folder / "deep").mkdir()
        (self.folder / "deep" / "gpu.md").write_text(NOTE)
        (self.folder / "plain.md").write_text("rows of memory\n# Cache\nmore rows\n```\n# no heading\n```\nend\n")

    def make_knowledge(self) -> Knowledge:
        return make_knowledge(str(self.folder))

    def test_sections_have_ids_and_titles(self) -> None:
        found = FolderKnowledge(self.folder).find(Query(words="rows reading"), 9)
        assert {(item.id, item.title) for item in found} == {
            ("deep/gpu.md#1", "Reading: Sectors"),
            ("deep/gpu.md#2", "Reading: Banks"),
            ("plain.md#1", "plain"),
            ("plain.md#2", "Cache"),
        }
        cache = next(item for item in found if item.title == "Cache")
        assert cache.text == "more rows\n```\n# no heading\n```\nend"

    def test_tags_keep_out_what_is_for_others(self) -> None:
        knowledge = FolderKnowledge(self.folder)
        on_cpu = knowledge.find(Query(platform="cpu", words="rows reading sectors"), 9)
        assert {item.id for item in on_cpu} == {"plain.md#1", "plain.md#2"}
        on_gpu = knowledge.find(Query(platform="cuda", bottleneck="uncoalesced", words="sectors rows"), 9)
        assert on_gpu[0].id == "deep/gpu.md#1"
        assert len(on_gpu) == 4

    def test_hostile_folders_do_no_harm(self) -> None:
        (self.folder / "bytes.md").write_bytes(b"\xff\xfe rows")
        (self.folder / "large.md").write_text("rows " * 300_000)
        (self.folder / "open.md").write_text("---\nplatform: cuda\nrows without an end of the tags\n")
        (self.folder / "long.md").write_text("# Long\n" + "rows of rows\n" * 3000)
        (self.folder / "link.md").symlink_to("/etc/passwd")
        found = FolderKnowledge(self.folder).find(Query(words="rows root"), 99)
        assert {item.id.partition("#")[0] for item in found} == {"plain.md", "open.md", "long.md"}
        long = next(item for item in found if item.id == "long.md#1")
        assert len(long.text) < 7000
        assert "cut here" in long.text


def test_names() -> None:
    assert set(KNOWLEDGE) == {"none", "shipped", "folder"}
    for where in KNOWLEDGE.values():
        module, _, attribute = where.partition(":")
        assert callable(getattr(import_module(module), attribute))
    for wrong in ("/no/such/folder", "folder:", "folder:/no/such", "none:x", "shipped:x"):
        with pytest.raises(UsageError):
            make_knowledge(wrong)
    assert isinstance(make_knowledge(f"folder:{SHIPPED}"), FolderKnowledge)


SECTIONS = [
    item
    for platform in ("cpu", "cuda")
    for item in make_knowledge("shipped").find(Query(platform=platform, words="to the a it is memory row"), 999)
]
NAMES = {*Bottleneck, *Cause}


def test_the_shipped_notes_are_short_and_tagged_with_names_that_exist() -> None:
    files = sorted(SHIPPED.rglob("*.md"))
    assert 12 <= len(files) <= 40
    for path in files:
        text = path.read_text()
        assert len(text) < 4000, path
        for line in text.split("---\n")[1].splitlines() if text.startswith("---") else ():
            key, _, values = line.partition(": ")
            assert key in ("platform", "language", "bottleneck", "phase"), path
            if key == "bottleneck":
                assert set(values.split()) <= {name.value for name in NAMES}, path
    assert len(SECTIONS) > 20


@pytest.mark.parametrize("cause", [cause for cause in Cause if cause not in (Cause.AT_ROOFLINE, Cause.UNEVEN_CORES)])
def test_every_cause_on_a_gpu_has_a_note(cause: Cause) -> None:
    query = Query(platform="cuda", language="cuda", bottleneck=cause.value, phase="improve")
    (found,) = make_knowledge("shipped").find(query, 1)
    text = (Path(SHIPPED) / found.id.partition("#")[0]).read_text()
    assert cause.value in text.split("---\n")[1]


@pytest.mark.parametrize(
    ("words", "title"),
    [
        ("convolution register tiles AVX-512", "Register tiles with AVX-512"),
        ("output channels of a direct convolution", "Direct convolution"),
        ("GEMM blocking", "Blocking and packing"),
    ],
)
def test_what_one_asks_about_a_product_on_a_cpu_is_found(words: str, title: str) -> None:
    for platform in ("", "cpu"):
        assert make_knowledge("shipped").find(Query(platform=platform, words=words), 1)[0].title.endswith(title)


def test_what_a_text_is_about_counts_more_than_what_it_mentions(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# Caches\n" + "tiles, tiles and tiles again: " * 5)
    (tmp_path / "b.md").write_text("# Tiles\n" + "they hold sums " * 20)
    assert [item.title for item in FolderKnowledge(tmp_path).find(Query(words="tiles"), 2)] == ["Tiles", "Caches"]


def test_a_situation_becomes_a_question() -> None:
    cases = golden_cases()
    improve = query_of(cases["lineage"])
    assert (improve.platform, improve.language, improve.bottleneck, improve.phase) == (
        "cpu",
        "cpp",
        "memory",
        "improve",
    )
    assert query_of(cases["gpu"]).bottleneck == "narrow_access"
    assert query_of(cases["wrong"]).phase == "repair"
    assert query_of(cases["draft"]).phase == "draft"
    assert query_of(cases["wishes"]).language == "python"
