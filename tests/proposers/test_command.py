"""A command-line agent as a proposer: what it is given, what is taken from it, what it costs."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from kernelevolve.errors import RecordError, SpentError, ToolMissingError, UsageError
from kernelevolve.model.brief import Brief, Operator
from kernelevolve.model.candidate import Candidate, Origin
from kernelevolve.model.task import SourceFile
from kernelevolve.proposers import make_proposer
from kernelevolve.proposers.base import Proposer, Tools
from kernelevolve.proposers.ledger import Limits, MemoryLedger
from kernelevolve.testing.proposer_case import ProposerCase, sample_attempt, sample_brief
from kernelevolve.testing.samples import sample_task

NUMBERED = """
import hashlib, os, pathlib, sys
brief, answer, n = pathlib.Path(sys.argv[1]).read_text(), pathlib.Path(sys.argv[2]), int(sys.argv[3])
for number in range(1, n + 1):
    folder = answer / str(number) if n > 1 else answer
    folder.mkdir(exist_ok=True)
    mark = hashlib.sha256(f"{brief} {number} {sys.argv[4]}".encode()).hexdigest()
    (folder / "candidate.toml").write_text('language = "cpp"\\nflags = ["-O3"]\\nintent = "try it"\\n')
    (folder / "double.cpp").write_text(f"// {mark}\\n")
"""
ONE = """
import pathlib
pathlib.Path("ANSWER/candidate.toml").write_text('language = "cpp"\\nintent = "one"\\n')
pathlib.Path("ANSWER/double.cpp").write_text("// one\\n")
"""


def spec(folder: Path, script: str, more: str = "") -> str:
    """The proposer's name."""
    (folder / "agent.py").write_text(script)
    argv = [sys.executable, "-B", "{here}/agent.py", "{brief}", "{answer}", "{n}", "{seed}"]
    (folder / "tiny.toml").write_text(f"argv = {json.dumps(argv)}\n{more}")
    return f"command:{folder / 'tiny.toml'}"


def ask(
    folder: Path, script: str, brief: Brief | None = None, *, more: str = "", tools: Tools | None = None
) -> list[Candidate]:
    proposer = make_proposer(spec(folder, script, more), tools)
    return proposer.propose(brief or sample_brief(sample_task()))


def parent_brief() -> Brief:
    files = (SourceFile(path="b.cpp", text="int b;\n"), SourceFile(path="a.h", text="one\ntwo\nthree\n"))
    parent = Candidate(language="cpp", files=files, flags=("-O2",), origin=Origin(proposer="x"))
    return sample_brief(sample_task(), operator=Operator.MUTATE, parents=(sample_attempt(1, parent),))


class TestCommandProposer(ProposerCase):
    def make_proposer(self, folder: Path) -> Proposer:
        return make_proposer(spec(folder, NUMBERED))


def test_the_agent_is_given_the_question_and_the_parents_files_and_nothing_else_of_the_environment(
    tmp_path: Path,
) -> None:
    script = ONE + (
        "import os, sys, json\n"
        "text = open('BRIEF.md').read()\n"
        "assert 'ANSWER/candidate.toml' in text and 'proposal.patch' in text, text\n"
        "assert open('parent/a.h').read() == 'one\\ntwo\\nthree\\n'\n"
        "assert sys.stdin.read() == ''\n"
        "assert os.environ['AGENT_MODEL'] == 'm' and os.environ['LEVEL'] == '3', dict(os.environ)\n"
        "assert 'OTHER' not in os.environ\n"
        "assert os.environ['TMPDIR'].startswith(os.getcwd())\n"
    )  # fmt: skip
    tools = Tools(environ={"PATH": "/usr/bin:/bin", "AGENT_MODEL": "m", "OTHER": "secret"})
    found = ask(
        tmp_path, script, parent_brief(), more='environment = ["AGENT_MODEL"]\n[set]\nLEVEL = "3"\n', tools=tools
    )
    assert [candidate.origin.intent for candidate in found] == ["one"]
    assert found[0].origin.proposer == "command:tiny"


def test_a_patch_changes_two_files_of_the_parent_or_none(tmp_path: Path) -> None:
    """PS10 PS25"""
    first = "--- a/a.h\n+++ b/a.h\n@@ -1,3 +1,3 @@\n one\n-two\n+zwei\n three\n"
    patch = first + "--- a/b.cpp\n+++ b/b.cpp\n@@ -1 +1 @@\n-int b;\n+int c;\n"
    script = f"open('ANSWER/proposal.patch', 'w').write({patch!r})"
    (found,) = ask(tmp_path, script, parent_brief())
    assert [(file.path, file.text) for file in found.files] == [("b.cpp", "int c;\n"), ("a.h", "one\nzwei\nthree\n")]
    assert (found.language, found.flags) == ("cpp", ("-O2",))
    with pytest.raises(RecordError, match="b.cpp: the lines of the hunk at line 1 are found nowhere"):
        ask(tmp_path, script.replace("-int b;", "-int d;"), parent_brief())


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("", "nothing was handed in"),
        ("open('ANSWER/double.cpp', 'w').write('x')", "language '' is unknown|neither candidate.toml"),
        ("import os; os.symlink('/etc/passwd', 'ANSWER/double.cpp')", "double.cpp: a link, device or socket"),
        ("import os; os.rmdir('ANSWER'); os.symlink('/etc', 'ANSWER')", "ANSWER: a link is not followed"),
        ("import os; os.mkfifo('ANSWER/pipe')", "pipe: a link, device or socket"),
        ("open('ANSWER/a', 'wb').write(bytes(2000000))", "more than 1048576 bytes"),
        ("open('ANSWER/a', 'wb').truncate(2**40)", "more than 1048576 bytes"),
        ("[open(f'ANSWER/{n}', 'w').write('x') for n in range(70)]", "more than 64 files"),
        ("import os; os.makedirs('ANSWER' + '/a' * 12)", "folders deep"),
        ("open('ANSWER/a.cpp', 'wb').write(b'\\xff\\xfe')", "not UTF-8"),
        ("open('ANSWER/candidate.toml', 'w').write('language = ')", "candidate.toml: not TOML"),
        (ONE + "open('ANSWER/candidate.toml', 'a').write('speed = 9')", "speed: Extra inputs"),
        (ONE + "open('ANSWER/usage.toml', 'w').write('usd = -1')", "usage.toml: usd"),
        (ONE + "open('ANSWER/usage.toml', 'w').write('usd = nan')", "usage.toml: usd"),
        (ONE + "open('ANSWER/proposal.patch', 'w').write('x')", "there is no parent"),
        (ONE + "print('no credit left'); raise SystemExit(3)", "exit code 3; its last words: no credit left"),
    ],
)
def test_what_cannot_be_taken_is_refused_and_named(script: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(RecordError, match=message):
        ask(tmp_path, script)


def test_no_scratch_folder_stays(tmp_path: Path) -> None:
    script = ONE + f"open({str(tmp_path / 'where')!r}, 'w').write(__import__('os').getcwd())"
    ask(tmp_path, script)
    assert not Path((tmp_path / "where").read_text()).exists()


def test_a_run_is_reserved_before_and_settled_after_and_never_paid_for_twice(tmp_path: Path) -> None:
    """PS29 PS53"""
    script = ONE + (
        f"open({str(tmp_path / 'runs')!r}, 'a').write('x')\n"
        "open('ANSWER/usage.toml', 'w').write('tokens_in = 30\\ntokens_out = 5\\nusd = 0.25\\n')\n"
    )  # fmt: skip
    ledger = MemoryLedger(Limits(max_usd=1.0))
    more, tools = "[cost]\nusd = 0.8\ntokens = 500\n", Tools(ledger=ledger)
    brief = sample_brief(sample_task())
    first = ask(tmp_path, script, brief, more=more, tools=tools)
    assert ask(tmp_path, script, brief, more=more, tools=tools) == first
    assert (tmp_path / "runs").read_text() == "x"
    assert (ledger.usd, ledger.tokens) == (0.25, 35)
    with pytest.raises(SpentError):
        ask(tmp_path, script, sample_brief(sample_task(), seed=1), more=more, tools=tools)
    assert (tmp_path / "runs").read_text() == "x"


def test_a_failed_run_costs_the_most_that_it_may_cost_unless_it_says_less(tmp_path: Path) -> None:
    """PS29"""
    ledger = MemoryLedger(Limits(max_usd=10.0))
    more, tools = "[cost]\nusd = 0.8\n", Tools(ledger=ledger)
    with pytest.raises(RecordError):
        ask(tmp_path, "raise SystemExit(1)", more=more, tools=tools)
    assert ledger.usd == 0.8
    with pytest.raises(RecordError):
        ask(tmp_path, "open('ANSWER/usage.toml', 'w').write('usd = 0.1')", more=more, tools=tools)
    assert ledger.usd == pytest.approx(0.9)
    assert [usage.outcome for usage in ledger.usages] == ["failed", "failed"]


def test_keys_stay_out_of_transcripts_messages_and_candidates(tmp_path: Path) -> None:
    key = "canary-7f3a91c0"
    tools = Tools(environ={"PATH": "/usr/bin:/bin", "AGENT_KEY": key}, transcripts=tmp_path / "kept")
    more = 'environment = ["AGENT_KEY"]\n'
    with pytest.raises(RecordError, match=r"\[redacted\]") as caught:
        ask(tmp_path, "import os; print('key', os.environ['AGENT_KEY']); raise SystemExit(1)", more=more, tools=tools)
    with pytest.raises(RecordError, match="holds a key"):
        ask(
            tmp_path, ONE + "import os\nopen('ANSWER/double.cpp', 'w').write(os.environ['AGENT_KEY'])", more=more,
            tools=tools,
        )  # fmt: skip
    texts = [path.read_text() for path in (tmp_path / "kept").iterdir()]
    assert len(texts) == 1, "same question, same file"
    assert not [text for text in [*texts, str(caught.value)] if key in text]


def test_a_transcript_says_what_ran_and_keeps_head_and_tail_of_a_flood(tmp_path: Path) -> None:
    script = ONE + "print('first words'); print('x' * 3_000_000); print('last words')"
    ask(tmp_path, script, tools=Tools(transcripts=tmp_path / "kept"))
    (path,) = (tmp_path / "kept").iterdir()
    text = path.read_text()
    assert path.name.startswith("ask-000000-")
    assert text.startswith("command:tiny, question 0: exit code 0 after ")
    assert "first words" in text
    assert "last words" in text
    assert "bytes left out" in text
    assert len(text) < 600_000


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('argv = []\n', "argv"),
        ('argv = ["x", "{breif}"]\n', r"placeholder \{breif\} is unknown; known: brief"),
        ('argv = ["x", "a\\u0000b"]\n', "zero byte"),
        ('argv = ["x"]\n[set]\n"A=B" = "1"\n', "'A=B' is no variable"),
        ('argv = ["x"]\ntimeout = 3\n', "timeout: Extra inputs"),
        ('argv = ["x"]\ntimeout_s = 0\n', "timeout_s"),
        ('argv = ["x"]\nhere = "/"\n', "here"),
        ('argv = ["x"]\n[cost]\nusd = -1\n', "cost.usd"),
        ("argv = ", "not TOML"),
    ],
)  # fmt: skip
def test_a_faulty_file_says_what_is_wrong(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text(text)
    with pytest.raises(UsageError, match=message):
        make_proposer(f"command:{tmp_path / 'x.toml'}")


def test_wrong_names_and_missing_programs_are_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"needs a file.*command:FILE.toml"):
        make_proposer("command")
    with pytest.raises(UsageError, match="cannot read"):
        make_proposer("command:nowhere.toml")
    (tmp_path / "x.toml").write_text('argv = ["no-such-agent"]\n')
    ledger = MemoryLedger()
    with pytest.raises(ToolMissingError, match="program 'no-such-agent' is not installed"):
        make_proposer(f"command:{tmp_path / 'x.toml'}", Tools(ledger=ledger)).propose(sample_brief(sample_task()))
    assert ledger.usages == ()


def test_a_parent_whose_files_no_disk_can_hold_is_said_and_not_paid_for_as_a_run(tmp_path: Path) -> None:
    files = (SourceFile(path="a", text="x"), SourceFile(path="a/b", text="x"))
    parent = Candidate(language="cpp", files=files, origin=Origin(proposer="x"))
    brief = sample_brief(sample_task(), operator=Operator.MUTATE, parents=(sample_attempt(7, parent),))
    ledger = MemoryLedger(Limits(max_usd=1.0))
    with pytest.raises(RecordError, match="the files of step 7 cannot be written"):
        ask(tmp_path, ONE, brief, more="[cost]\nusd = 0.5\n", tools=Tools(ledger=ledger))
    assert ledger.usd == 0
    assert [usage.outcome for usage in ledger.usages] == ["failed"]
