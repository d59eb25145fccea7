"""Near-duplicates: what differs in comments and layout is one candidate, what may behave differently is not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelevolve.model.candidate import Candidate, Origin
from kernelevolve.model.normal import normal_id, normal_text
from kernelevolve.model.task import SourceFile

ORIGIN = Origin(proposer="test")


def candidate(text: str, *, language: str = "cpp", path: str = "k.cpp", flags: tuple[str, ...] = ()) -> Candidate:
    return Candidate(language=language, files=(SourceFile(path=path, text=text),), flags=flags, origin=ORIGIN)


CPP = 'int f(int a) {\n  // add\n  return a+1; /* done */\n}\nconst char* s = "a // b";\n'
PYTHON = 'def f(x):\n    # add\n    s = "# no comment"\n    return x + 1\n'


@pytest.mark.parametrize(
    "other",
    [
        'int f(int a){return a + 1;}const char*s="a // b";',
        CPP.replace("\n", "\r\n"),
        CPP.replace("  ", "\t\t"),
        CPP.replace("// add", "// go on \\\n  this is a comment too"),
        f"/* header */\n\n{CPP}",
    ],
)
def test_comments_and_layout_do_not_count(other: str) -> None:
    """PS5"""
    assert normal_id(candidate(CPP)) == normal_id(candidate(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("x = a+++b;", "x = a+ ++b;"),
        ("x = a - -b;", "x = a--b;"),
        ("int ab;", "int a b;"),
        ('s = "a b";', 's = "a  b";'),
        ('s = "a//b";', 's = "a//c";'),
        ("c = '\\'';// x", "c = '\"';// x"),
        ('s = R"x(a // b)x";', 's = R"x(a // c)x";'),
        ('s = R"(\n a)";', 's = R"(\na)";'),
        ("#define f(x) x\nf(1)", "#define f (x) x\nf(1)"),
        ("#define A 1\nint b;", "#define A 1 int b;"),
        ("// gone \\\nint a;\nint b;", "// gone\nint a;\nint b;"),
        ("x = 1'000;", "x = 1000;"),
        ("x = 1e+5;", "x = 1e + 5;"),
    ],
)
def test_what_may_mean_something_else_stays_different(one: str, other: str) -> None:
    assert normal_id(candidate(one)) != normal_id(candidate(other))


def test_python_keeps_its_indentation_and_its_strings() -> None:
    same = '\n\ndef f(x):   # comment\n    s  =  "# no comment"\n\n    return x  +  1   '
    assert normal_id(candidate(PYTHON, language="triton", path="k.py")) == normal_id(
        candidate(same, language="triton", path="k.py")
    )
    for other in (PYTHON.replace("    return", "  return"), PYTHON.replace("# no", "#  no"), PYTHON.replace("+", "-")):
        assert normal_id(candidate(PYTHON, language="triton", path="k.py")) != normal_id(
            candidate(other, language="triton", path="k.py")
        )


def test_flags_their_order_language_and_paths_count() -> None:
    base = candidate(CPP, flags=("-O2", "-DX"))
    others = [
        candidate(CPP, flags=("-DX", "-O2")),
        candidate(CPP),
        candidate(CPP, path="other.h", flags=("-O2", "-DX")),
        candidate(CPP, language="cuda", flags=("-O2", "-DX")),
    ]
    assert len({normal_id(one) for one in (base, *others)}) == 5


@pytest.mark.parametrize(
    "text",
    [
        "const char* me = __FILE__;",
        "const char* me = __builtin_FILE();",
        '#include "k.cpp"\nint a;',
        "#define AND(a, b) a##b\nconst char* me = AND(__FI, LE__);",
        "auto me = std::source_location::current();",
    ],
)
def test_a_file_that_could_ask_for_its_name_keeps_it(text: str) -> None:
    assert normal_id(candidate(text)) != normal_id(candidate(text, path="other.cpp"))


def test_the_name_of_the_only_cpp_file_does_not_count() -> None:
    """PS5: the entry point is found by its prototype."""
    assert normal_id(candidate(CPP)) == normal_id(candidate(f"// v2\n{CPP}", path="src/other.cpp"))
    assert normal_id(candidate(CPP)) != normal_id(candidate(CPP, path="other.cc"))
    assert normal_id(candidate(PYTHON, language="python", path="k.py")) != normal_id(
        candidate(PYTHON, language="python", path="other.py")
    )
    two = candidate(CPP).model_copy(
        update={"files": (SourceFile(path="k.cpp", text=CPP), SourceFile(path="a.h", text="int b;"))}
    )
    renamed = two.model_copy(update={"files": (two.files[0].model_copy(update={"path": "l.cpp"}), two.files[1])})
    assert normal_id(two) != normal_id(renamed)


def test_an_unknown_kind_of_file_is_taken_as_it_stands() -> None:
    text = "a  # b\n"
    assert normal_text("fake", "a.fake", text) == normal_text("cpp", "notes.toml", text) == text
    assert normal_id(candidate(text, language="fake")) == candidate(text, language="fake").id


@given(st.text(alphabet=st.sampled_from("ab01 \n\t\\\"'/*#+-<>=()RuL"), max_size=60))
def test_any_text_has_a_normal_form(text: str) -> None:
    """Hostile or broken: no error, no blow-up, and nothing invented that was not in the text."""
    for language, path in (("cpp", "k.cpp"), ("triton", "k.py")):
        normal = normal_text(language, path, text)
        assert len(normal) <= 3 * len(text)
        assert set(normal) <= {*text, " ", "\n"}


@given(
    st.lists(st.sampled_from(["int", "a", "=", "1", ";", "/* c */", "// c\n", "\n", '"s t"', "(", ")"]), max_size=12)
)
def test_comments_between_tokens_never_count(tokens: list[str]) -> None:
    plain = " ".join(token for token in tokens if not token.startswith("/"))
    assert normal_text("cpp", "k.cpp", " ".join(tokens)) == normal_text("cpp", "k.cpp", plain)
