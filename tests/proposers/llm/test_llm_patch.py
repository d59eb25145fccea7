"""Answers and edits: read strictly, applied whole or not at all, and lossless whatever the source looks like."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kernelevolve.model.brief import Brief, Operator
from kernelevolve.model.candidate import Candidate, Origin
from kernelevolve.model.task import SourceFile
from kernelevolve.proposers.llm.answer import Answer, Block, parse_answer, render_answer
from kernelevolve.proposers.llm.base import AnswerError, PatchError
from kernelevolve.proposers.llm.candidate import candidate_from
from kernelevolve.proposers.llm.patch import (
    Edit,
    Place,
    apply_edits,
    check_taken_back,
    make_edits,
    parse_edits,
    render_edits,
    split_lines,
)
from kernelevolve.testing.proposer_case import sample_attempt, sample_brief
from kernelevolve.testing.samples import sample_task

ORIGIN = Origin(proposer="tests")
MARKERS = (
    "<<<<<<< SEARCH", "=======", ">>>>>>> REPLACE", "<<<<<<<< SEARCH", "========", ">>>>>>>> REPLACE", "======= ",
    "```", "````", "~~~", "   ```", "``` file: x.cpp", "language: cuda", "intent: none", "# EVOLVE-BLOCK-END",
    "// EVOLVE-BLOCK-START", "<think>", "</think>", "", " ", "\t", "=====", "<", "a\rb", "x\r", "\x0b", "\u2028",
    "\x85",
)  # fmt: skip
LINES = st.one_of(
    st.sampled_from(MARKERS),
    st.sampled_from(("int x = 0;", "    return x", "}", "  }", "@triton.jit", "/* c */", "-- é", "(* ml *)", "a", "b")),
    st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]), max_size=12),
)
TEXTS = st.lists(LINES, max_size=12).map(lambda lines: "".join(f"{line}\n" for line in lines))
SOME = st.lists(LINES, min_size=1, max_size=12).map(lambda lines: "".join(f"{line}\n" for line in lines))


@given(before=SOME, after=TEXTS)
@example(before="a\na\na\n", after="a\na\na\na\n")
@example(before="=======\n", after="<<<<<<< SEARCH\n")
@example(before="x\n// EVOLVE-BLOCK-END\n", after="x\nnew\n// EVOLVE-BLOCK-END\n")
def test_applying_what_was_rendered_is_lossless(before: str, after: str) -> None:
    """PS23: for every marker and every language; an insertion before a marker line is not glued onto it."""
    edits = make_edits(before, after)
    if edits:
        text = render_answer(Answer(blocks=(Block(kind="edit", path="k.cpp", edits=edits),)))
        (block,) = parse_answer(text).blocks
        assert block.edits == edits
    assert apply_edits(before, edits, path="k.cpp") == after


@given(st.lists(st.tuples(st.sampled_from(("a.cpp", "b.h", "sub/c.cu", "d.py")), TEXTS), unique_by=lambda f: f[0]))
def test_whole_files_come_back_as_they_were(files: list[tuple[str, str]]) -> None:
    """PS23"""
    blocks = tuple(Block(kind="file", path=path, text=text) for path, text in files)
    answer = Answer(blocks=blocks, language="cpp", intent="as it was", flags=("-O3",))
    if blocks:
        assert parse_answer(render_answer(answer)) == answer


@given(st.lists(st.tuples(st.lists(LINES, max_size=4), st.lists(LINES, max_size=4)), min_size=1, max_size=4))
def test_edits_come_back_as_they_were(pairs: list[tuple[list[str], list[str]]]) -> None:
    edits = tuple(Edit(search=tuple(search), replace=tuple(replace)) for search, replace in pairs)
    assert parse_edits(split_lines(render_edits(edits)), path="k") == edits


@given(st.text())
@example("``` file: a\n")
@example("``` edit: a\n<<<<<<< SEARCH\n")
def test_whatever_a_model_writes_is_an_answer_or_an_answer_error(text: str) -> None:
    try:
        assert parse_answer(text).blocks
    except AnswerError:
        return


SOURCE = "int f() {\n    int a = 1;\n    int b = 2;\n    return a;\n}\nint g() {\n    return a;\n}\n"


def edit(search: str, replace: str) -> Edit:
    return Edit(search=tuple(search.split("\n")), replace=tuple(replace.split("\n")))


def test_edits_look_at_the_text_as_it_was_whatever_their_order() -> None:
    edits = (edit("    int b = 2;", "    int a = 1;"), edit("    int a = 1;", "    int b = 2;"))
    swapped = SOURCE.replace("a = 1", "c").replace("b = 2", "a = 1").replace("int c", "int b = 2")
    assert apply_edits(SOURCE, edits, path="f") == apply_edits(SOURCE, edits[::-1], path="f") == swapped


def test_spaces_are_left_aside_where_only_one_place_fits() -> None:
    found = apply_edits(SOURCE, (edit("int  a  = 1;\r", "int a = 9;"),), path="f")
    assert "\n    int a = 9;\n" in found, "and the replacement is indented as the file is"


def test_in_python_the_replacement_moves_with_what_it_replaces() -> None:
    source = "class A:\n    def f(x):\n        if x:\n            return 1\n"
    found = apply_edits(source, (edit("if x:\n    return 1", "if not x:\n    return 2\n\nreturn 3"),), path="f")
    assert found == "class A:\n    def f(x):\n        if not x:\n            return 2\n\n        return 3\n"


@pytest.mark.parametrize(
    ("edits", "message"),
    [
        ([edit("    return a;", "x")], "2 places"),
        ([edit("return a;", "x")], "2 places when spaces"),
        ([edit("nowhere", "x")], "not in the file"),
        ([edit("    int a = 1;\n    int b = 2;", "x"), edit("    int b = 2;", "y")], "two edits change line 3"),
        ([Edit(search=(), replace=("x",))], "empty SEARCH"),
        ([edit("int f() {\n  int a = 1;\n      int b = 2;", "x")], "indented in another way"),
    ],
)
def test_what_does_not_fit_says_why_and_is_the_models_fault(edits: list[Edit], message: str) -> None:
    with pytest.raises(PatchError, match=message) as caught:
        apply_edits(SOURCE, edits, path="kernel.cpp")
    assert (caught.value.kind, caught.value.path) == ("model", "kernel.cpp")


@pytest.mark.parametrize("result", ["a\nnewEND\nc\n", "a\nnew\nEND\n", "a\nEND\nc\n"])
def test_a_fault_of_ours_is_called_ours(result: str) -> None:
    """PS23: an insertion glued onto the marker after it is a fault of the patcher, not of the model."""
    place = Place(start=1, stop=1, lines=("new",))
    check_taken_back(["a", "END", "c"], "a\nnew\nEND\nc\n", [place], "k.cpp")
    with pytest.raises(PatchError) as caught:
        check_taken_back(["a", "END", "c"], result, [place], "k.cpp")
    assert caught.value.kind == "patcher"


def brief_of(*files: tuple[str, str], language: str = "cpp", flags: tuple[str, ...] = ("-O2",)) -> Brief:
    sources = tuple(SourceFile(path=path, text=text) for path, text in files)
    parent = sample_attempt(1, Candidate(language=language, files=sources, flags=flags, origin=ORIGIN))
    return sample_brief(sample_task(), operator=Operator.MUTATE, parents=(parent,))


TWO = brief_of(("kernel.cpp", SOURCE), ("binding.cpp", "#include <x>\nbind\n"), ("size.h", "#define N 4\n"))


def block(path: str, search: str, replace: str) -> str:
    return f"``` edit: {path}\n<<<<<<< SEARCH\n{search}\n=======\n{replace}\n>>>>>>> REPLACE\n```\n"


def test_an_edit_of_two_files_applies_to_both_and_leaves_the_third() -> None:
    """PS10, PS25"""
    text = block("kernel.cpp", "    int a = 1;", "    int a = 3;") + block("binding.cpp", "bind", "bind3")
    found = candidate_from(parse_answer(text), brief=TWO, origin=ORIGIN)
    assert [file.path for file in found.files] == ["kernel.cpp", "binding.cpp", "size.h"]
    assert "a = 3" in found.files[0].text
    assert found.files[1].text == "#include <x>\nbind3\n"
    assert (found.language, found.flags) == ("cpp", ("-O2",))


@pytest.mark.parametrize("order", [1, -1])
def test_an_edit_of_two_files_of_which_one_does_not_fit_applies_to_none(order: int) -> None:
    """PS10, PS25"""
    blocks = [block("kernel.cpp", "    int a = 1;", "    int a = 3;"), block("binding.cpp", "nowhere", "x")]
    before = TWO.to_json()
    with pytest.raises(PatchError, match=r"binding\.cpp"):
        candidate_from(parse_answer("".join(blocks[::order])), brief=TWO, origin=ORIGIN)
    assert TWO.to_json() == before


def test_files_can_come_and_go_and_flags_change() -> None:
    text = "flags: -O3 -ffast-math\n\n``` delete: size.h\n```\n\n```cpp file: more.h\n#pragma once\n```\n"
    found = candidate_from(parse_answer(text), brief=TWO, origin=ORIGIN)
    assert [file.path for file in found.files] == ["kernel.cpp", "binding.cpp", "more.h"]
    assert found.flags == ("-O3", "-ffast-math")


def test_whole_files_alone_are_the_whole_candidate() -> None:
    found = candidate_from(parse_answer("``` file: new.cpp\nint h;\n```"), brief=TWO, origin=ORIGIN)
    assert [(file.path, file.text) for file in found.files] == [("new.cpp", "int h;\n")]
    assert (found.language, found.flags) == ("cpp", ())


def test_thoughts_are_not_read() -> None:
    text = "<think>\n``` file: wrong.cpp\nno\n```\n</think>\n``` file: right.cpp\nyes\n```"
    assert [block.path for block in parse_answer(text).blocks] == ["right.cpp"]


@pytest.mark.parametrize(
    "path",
    ["/etc/passwd.cpp", "../up.cpp", "a/../b.cpp", "a\\b.cpp", "C:x.cpp", ".hidden.cpp", "a b.cpp", "~/x.cpp", "-o.cpp",
     "a//b.cpp", "./a.cpp", "a.so", "Makefile", "a.py", "a.cpp\0", "x" * 200 + ".cpp", "$(id).cpp", "a/.git/b.cpp"],
)  # fmt: skip
def test_names_that_leave_the_folder_or_the_language_are_refused(path: str) -> None:
    answer = Answer(language="cpp", blocks=(Block(kind="file", path=path, text="int x;\n"),))
    with pytest.raises(AnswerError):
        candidate_from(answer, brief=TWO, origin=ORIGIN)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("language: cuda\n``` file: a.cu\nx\n```", "does not run on cpu"),
        ("``` file: a.txt\nx\n```", "language: NAME"),
        ("``` file: a.cpp\nx\n```\n``` file: a.cpp\ny\n```", "two blocks for a.cpp"),
        ("``` edit: other.cpp\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n```", "no such file; it has kernel.cpp"),
        ("``` delete: kernel.cpp\n```\n``` delete: size.h\n```\n``` delete: binding.cpp\n```", "language|files"),
        ("``` edit: kernel.cpp\njust text\n```", "outside of a SEARCH/REPLACE"),
        ("``` edit: kernel.cpp\n<<<<<<< SEARCH\na\n>>>>>>> REPLACE\n```", "line of 7 '=' is missing"),
        ("``` edit: kernel.cpp\n<<<<<<< SEARCH\na\n=======\nb\n```", "REPLACE' is missing"),
        ("``` file: a.cpp\n\ud800\n```", "half a surrogate"),
        ("``` file: a.cpp\n" + "x" * 2_000_000 + "\n```", "longer than"),
        ("".join(f"``` file: a{n}.cpp\nx\n```\n" for n in range(65)), "65 files"),
    ],
)
def test_answers_that_cannot_be_used_say_why(text: str, message: str) -> None:
    with pytest.raises(AnswerError, match=message):
        candidate_from(parse_answer(text), brief=TWO, origin=ORIGIN)


def test_on_a_gpu_python_alone_is_a_module_and_with_a_plan_has_to_be_named() -> None:
    """Five languages of device code are written in .py, each with a plan beside it."""
    brief = sample_brief(sample_task().model_copy(update={"platform": "cuda"}))
    module, plan = "``` file: kernel.py\nx\n```\n", "``` file: launch.toml\nx\n```\n"
    assert candidate_from(parse_answer(module), brief=brief, origin=ORIGIN).language == "python"
    assert candidate_from(parse_answer("language: gluon\n" + module), brief=brief, origin=ORIGIN).language == "gluon"
    with pytest.raises(AnswerError, match="with one of cuda, triton, gluon, tlx, cutedsl, cutile, python"):
        candidate_from(parse_answer(module + plan), brief=brief, origin=ORIGIN)
    with pytest.raises(AnswerError, match="launch.toml: a file of a python candidate ends in .py"):
        candidate_from(parse_answer("language: python\n" + module + plan), brief=brief, origin=ORIGIN)


def test_a_draft_has_nothing_to_edit() -> None:
    with pytest.raises(PatchError, match="no current kernel"):
        candidate_from(parse_answer(block("k.cpp", "a", "b")), brief=sample_brief(sample_task()), origin=ORIGIN)
