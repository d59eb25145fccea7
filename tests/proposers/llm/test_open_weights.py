"""A real model behind a real HTTP endpoint, asked through the real SDK: trained here, in seconds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kernelevolve.model.brief import Brief
from kernelevolve.model.task import Task
from kernelevolve.proposers.llm.answer import Answer, Block, render_answer
from kernelevolve.proposers.llm.base import AnswerError, TruncatedError
from kernelevolve.testing.model_servers import OpenAIServer
from kernelevolve.testing.proposer_case import sample_brief
from kernelevolve.testing.tiny_model import TinyModel
from kernelevolve.toolchains.base import Artifact
from kernelevolve.toolchains.cpp import CppToolchain
from tests.proposers.llm.llm_parts import Bench

pytestmark = pytest.mark.slow
SOURCE = """\
extern "C" int row_scale(const float* x, const float* w, float* y, int64_t R, int64_t C) {
    for (int64_t i = 0; i < R * C; ++i) y[i] = x[i] * w[i % C] + 1.0f;
    return 0;
}
"""
ANSWER = render_answer(
    Answer(language="cpp", intent="one loop", blocks=(Block(kind="file", path="k.cpp", text=SOURCE),))
)


@pytest.fixture(scope="module")
def tiny() -> TinyModel:
    model = TinyModel(ANSWER)
    model.train()
    return model


@pytest.fixture
def server(tiny: TinyModel) -> Iterator[OpenAIServer]:
    with OpenAIServer(tiny.turn) as server:
        yield server


@pytest.fixture
def brief(row_scale: Task) -> Brief:
    return sample_brief(row_scale)


def test_its_answer_becomes_a_candidate_that_compiles(
    server: OpenAIServer, brief: Brief, row_scale: Task, cache: Path
) -> None:
    bench = Bench("openai", server, options="?temperature=0&max_tokens=1000", model="tiny")
    (candidate,) = bench.proposer.propose(brief)
    assert candidate.source == SOURCE
    (usage,) = bench.ledger.usages
    assert usage.tokens_out == len(ANSWER.encode()) + 1
    assert usage.tokens_in + usage.tokens_out == server.billed_in + server.billed_out
    toolchain = CppToolchain(cache=cache)
    assert toolchain.inspect(row_scale, candidate) is None
    assert isinstance(toolchain.build(row_scale, candidate, timeout_s=60), Artifact)


def test_cut_off_it_is_an_error_of_its_own(server: OpenAIServer, brief: Brief) -> None:
    bench = Bench("openai", server, options="?temperature=0&max_tokens=60", model="tiny")
    with pytest.raises(TruncatedError, match="60 tokens"):
        bench.proposer.propose(brief)
    assert [usage.tokens_out for usage in bench.ledger.usages] == [60, 60]


def test_too_hot_it_talks_nonsense_which_is_refused_and_paid(server: OpenAIServer, brief: Brief) -> None:
    bench = Bench("openai", server, options="?temperature=2&max_tokens=400", model="tiny")
    try:
        (candidate,) = bench.proposer.propose(brief)
    except AnswerError:
        assert len(bench.ledger.usages) == 2
    else:
        assert candidate.files
    assert bench.ledger.tokens == server.billed_in + server.billed_out
