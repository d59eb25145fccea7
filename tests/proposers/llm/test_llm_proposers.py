from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from kernelevolve.errors import ProposerError, SpentError, UsageError
from kernelevolve.model.brief import Brief, Operator
from kernelevolve.model.candidate import Candidate, Origin
from kernelevolve.model.task import SourceFile
from kernelevolve.proposers import make_proposer
from kernelevolve.proposers.base import NoLedger, Proposer, Tools
from kernelevolve.proposers.ledger import Limits
from kernelevolve.proposers.llm.base import AnswerError, PatchError, TruncatedError
from kernelevolve.testing.model_servers import Turn
from kernelevolve.testing.proposer_case import ProposerCase, sample_attempt, sample_brief
from kernelevolve.testing.samples import sample_task
from tests.proposers.llm.llm_parts import (
    CANARY,
    KEYS,
    KINDS,
    URLS,
    Bench,
    fake_answer,
    fake_source,
    numbered_turn,
    server_of,
)

BRIEF = sample_brief(sample_task())


def current(text: str = fake_source(1), path: str = "double.fake") -> Candidate:
    origin = Origin(proposer="tests", intent="start")
    return Candidate(language="fake", files=(SourceFile(path=path, text=text),), origin=origin)


def mutation(candidate: Candidate | None = None) -> Brief:
    parents = (sample_attempt(1, candidate or current()),)
    return sample_brief(sample_task(), operator=Operator.MUTATE, parents=parents)


def edit(search: str, replace: str, path: str = "double.fake") -> str:
    return f"intent: other\n\n``` edit: {path}\n<<<<<<< SEARCH\n{search}\n=======\n{replace}\n>>>>>>> REPLACE\n```\n"


def ask_often(bench: Bench) -> None:
    for ask in range(1, 1000):
        bench.proposer.propose(BRIEF.model_copy(update={"ask": ask}))


class LlmCase(ProposerCase):
    kind: str
    resends = True  # a brief leaves out what does not fit into it, and equal prompts get equal answers here

    @pytest.fixture(autouse=True)
    def _server(self) -> Iterator[None]:
        with server_of(self.kind, numbered_turn) as self.server:
            yield

    def make_proposer(self, folder: Path) -> Proposer:
        return Bench(self.kind, self.server).proposer


class TestOpenAI(LlmCase):
    kind = "openai"


class TestAnthropic(LlmCase):
    kind = "anthropic"


@pytest.mark.parametrize("kind", KINDS)
def test_a_whole_file_becomes_a_candidate_and_the_brief_was_sent(kind: str) -> None:
    with server_of(kind, [Turn(text=fake_answer(42, intent="the answer"))], key=CANARY) as server:
        bench = Bench(kind, server)
        (candidate,) = bench.proposer.propose(BRIEF)
    assert candidate.files[0].text == fake_source(42)
    assert candidate.origin.proposer == bench.proposer.name == f"{kind}:some-model"
    assert candidate.origin.intent == "the answer"
    assert "twice the input" in server.received[0].prompt
    assert "SEARCH" in server.received[0].prompt
    assert server.received[0].body["model"] == "some-model"


def test_what_the_brief_held_is_told_by_id() -> None:
    told: list[tuple[int, tuple[str, ...]]] = []
    with server_of("openai", [Turn(text=fake_answer(1))]) as server:
        bench = Bench("openai", server, shown=lambda ask, items: told.append((ask, items)))
        bench.proposer.propose(mutation().model_copy(update={"ask": 9}))
    ((ask, items),) = told
    assert ask == 9
    assert {"task", "shapes", "attempt:1"} <= set(items)


@pytest.mark.parametrize("kind", KINDS)
def test_edits_change_the_current_kernel(kind: str) -> None:
    with server_of(kind, [Turn(text=edit("value = 1", "value = 2"))]) as server:
        (candidate,) = Bench(kind, server).proposer.propose(mutation())
    assert candidate.files[0].text == fake_source(2)
    assert candidate.language == "fake"


@pytest.mark.parametrize(
    ("first", "message"),
    [
        (Turn(text=edit("value = 77", "value = 2")), "not in the file"),
        (Turn(text="I would rather write a poem."), "no file in the answer"),
        (Turn(text=""), "empty"),
        (Turn(text=fake_answer(3, path="../escape.fake")), "cannot be a file"),
        (Turn(text=fake_answer(3, path="/etc/passwd.fake")), "cannot be a file"),
        (Turn(text=fake_answer(3, path="kernel.exe")), "ends in"),
        (Turn(text=fake_answer(3)[:-8]), "not closed"),
        (Turn(text="language: cobol\n``` file: a.cob\nx\n```"), "'cobol' does not run"),
        (Turn(text=fake_answer(3)[:40], stop="length"), "cut off at"),
    ],
)
@pytest.mark.parametrize("kind", KINDS)
def test_one_repair_turn_gets_the_reason(kind: str, first: Turn, message: str) -> None:
    with server_of(kind, [first, Turn(text=fake_answer(8))]) as server:
        bench = Bench(kind, server)
        (candidate,) = bench.proposer.propose(mutation())
    assert candidate.files[0].text == fake_source(8)
    assert candidate.origin.parameters["repaired"]
    assert message in server.received[1].prompt
    assert "twice the input" in server.received[1].prompt, "the brief is sent again"
    assert bench.ledger.tokens == server.billed_in + server.billed_out


@pytest.mark.parametrize("kind", KINDS)
def test_after_one_repair_it_gives_up_with_both_reasons(kind: str) -> None:
    with server_of(kind, [Turn(text=edit("value = 77", "x")), Turn(text=edit("value = 78", "x"))]) as server:
        bench = Bench(kind, server)
        with pytest.raises(PatchError, match=r"(?s)value = 78.*after one repair.*value = 77") as caught:
            bench.proposer.propose(mutation())
    assert caught.value.kind == "model"
    assert server.n_calls == 2
    assert [usage.outcome for usage in bench.ledger.usages] == ["answered", "answered"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_truncated_answer_is_an_error_of_its_own(kind: str) -> None:
    """A cut-off kernel may well compile: it is never read."""
    with server_of(kind, [Turn(text=fake_answer(3), stop="length")] * 2) as server, pytest.raises(TruncatedError):
        Bench(kind, server).proposer.propose(BRIEF)
    assert "kernel" in server.received[1].prompt


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_that_declines_is_not_asked_again(kind: str) -> None:
    with server_of(kind, [Turn(stop="refused")]) as server, pytest.raises(AnswerError, match="declined"):
        Bench(kind, server).proposer.propose(BRIEF)
    assert server.n_calls == 1


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_question_is_never_paid_for_twice(kind: str) -> None:
    """A resumed campaign asks the same question again, its repair included."""
    with server_of(kind, [Turn(text="?"), Turn(text=fake_answer(5)), Turn(text=fake_answer(6))]) as server:
        bench = Bench(kind, server)
        first = bench.proposer.propose(BRIEF)
        again = make_proposer(f"{kind}:some-model", bench.tools).propose(BRIEF)
        assert (again, server.n_calls) == (first, 2)
        other = bench.proposer.propose(BRIEF.model_copy(update={"ask": 2}))
    assert other != first
    assert server.n_calls == 3


@pytest.mark.parametrize("kind", KINDS)
def test_the_limit_stops_before_the_call(kind: str) -> None:
    """PS59"""
    with server_of(kind, numbered_turn) as server:
        bench = Bench(kind, server, limits=Limits(max_tokens=25_000), options="?max_tokens=1000")
        with pytest.raises(SpentError, match="--max-tokens"):
            ask_often(bench)
        assert 0 < server.billed_in + server.billed_out == bench.ledger.tokens <= 25_000
        n_calls = server.n_calls
        with pytest.raises(SpentError):
            bench.proposer.propose(BRIEF.model_copy(update={"ask": 1001}))
    assert server.n_calls == n_calls


def test_dollars_are_counted_by_the_table_and_stop_too(tmp_path: Path) -> None:
    """PS59"""
    prices = tmp_path / "prices.toml"
    prices.write_text('[[price]]\nhost = "*"\nas_of = "2026-01"\nmodels = { "some-model" = [1000.0, 10000.0] }\n')
    environ = {"KERNELEVOLVE_PRICES": str(prices)}
    with server_of("openai", numbered_turn) as server:
        limits = Limits(max_usd=25.0)
        bench = Bench("openai", server, limits=limits, options="?max_tokens=100", environ=environ)
        with pytest.raises(SpentError, match="--max-usd"):
            ask_often(bench)
    assert bench.ledger.usd == pytest.approx(server.billed_in * 1e-3 + server.billed_out * 1e-2)
    assert 0 < bench.ledger.usd <= 25.0


@pytest.mark.parametrize("kind", KINDS)
def test_an_unknown_price_is_unpriced_and_needs_a_limit_on_tokens(kind: str) -> None:
    """PS59"""
    with server_of(kind, [Turn(text=fake_answer(5))]) as server:
        bench = Bench(kind, server, limits=Limits(max_usd=100.0))
        with pytest.raises(SpentError, match="--max-tokens"):
            bench.proposer.propose(BRIEF)
        with pytest.raises(ProposerError, match="--max-tokens"):
            Bench(kind, server, ledger=NoLedger()).proposer.propose(BRIEF)
        assert server.n_calls == 0
        bench = Bench(kind, server)
        bench.proposer.propose(BRIEF)
    assert [usage.usd for usage in bench.ledger.usages] == [None]
    assert any("unpriced" in text for text in bench.said)


@pytest.mark.parametrize("kind", KINDS)
def test_threads_may_ask_together(kind: str) -> None:
    with server_of(kind, numbered_turn) as server:
        bench = Bench(kind, server)
        briefs = [BRIEF.model_copy(update={"ask": ask}) for ask in range(24)]
        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(bench.proposer.propose, briefs))
    assert all(len(candidates) == 1 for candidates in found)
    assert server.n_calls == 24
    assert bench.ledger.tokens == server.billed_in + server.billed_out


@pytest.mark.parametrize(
    ("name", "environ", "message"),
    [
        ("openai", {}, "openai:MODEL"),
        ("openai:", {}, "openai:MODEL"),
        ("openai:m", {}, "no key in OPENAI_API_KEY"),
        ("anthropic:m", {}, "no key in ANTHROPIC_API_KEY"),
        ("openai:m?temperature=9", {"OPENAI_API_KEY": CANARY}, "temperature"),
        ("openai:m?nonsense", {"OPENAI_API_KEY": CANARY}, "NAME=VALUE"),
        ("openai:m?colour=red", {"OPENAI_API_KEY": CANARY}, "colour"),
        ("openai:m", {"OPENAI_API_KEY": CANARY, "KERNELEVOLVE_LLM_RPM": "many"}, "KERNELEVOLVE_LLM_RPM"),
        ("openai:m", {"OPENAI_API_KEY": CANARY, "KERNELEVOLVE_PRICES": "nowhere.toml"}, "nowhere.toml"),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_called(name: str, environ: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        make_proposer(name, Tools(environ=environ))


@pytest.mark.parametrize("kind", KINDS)
def test_only_the_given_environment_is_read(kind: str) -> None:
    """The key comes from the tools, not from the process."""
    with server_of(kind, [Turn(text=fake_answer(1))], key="another-key-entirely") as server:
        bench = Bench(kind, server, environ={KEYS[kind]: "another-key-entirely"})
        assert bench.proposer.propose(BRIEF)
    assert server.received[0].headers["host"] in bench.tools.environ[URLS[kind]]


def test_a_server_of_ones_own_needs_no_key() -> None:
    with server_of("openai", [Turn(text=fake_answer(1))]) as server:
        assert Bench("openai", server, environ={"OPENAI_API_KEY": ""}).proposer.propose(BRIEF)
