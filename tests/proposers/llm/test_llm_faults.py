"""Everything that goes wrong between us and a model: what is retried, what it costs, and what is said."""

from __future__ import annotations

import logging
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from kernelevolve.errors import MachineError
from kernelevolve.proposers.base import Usage
from kernelevolve.proposers.llm.base import CallError, RefusedError, Reply, Request
from kernelevolve.proposers.llm.options import parse_options
from kernelevolve.proposers.llm.proposer import make_llm
from kernelevolve.testing.model_servers import ModelServer, Received, Turn
from kernelevolve.testing.proposer_case import sample_brief
from kernelevolve.testing.samples import sample_task
from tests.proposers.llm.llm_parts import CANARY, KEYS, KINDS, URLS, Bench, fake_answer, server_of

BRIEF = sample_brief(sample_task())
GOOD = Turn(text=fake_answer(5))
both = pytest.mark.parametrize("kind", KINDS)


def balance(server: ModelServer, usages: tuple[Usage, ...]) -> int:
    """Tokens in the ledger above what the provider billed."""
    ledger = sum(usage.tokens_in + usage.tokens_out for usage in usages)
    return ledger - server.billed_in - server.billed_out


@both
@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 529])
def test_busy_and_broken_servers_are_asked_again(kind: str, status: int) -> None:
    """PS29: failed calls stand in the ledger too, at what they cost."""
    with server_of(kind, [Turn(status=status), Turn(status=status), GOOD]) as server:
        bench = Bench(kind, server)
        assert bench.proposer.propose(BRIEF)
    assert server.n_calls == 3
    assert [usage.outcome for usage in bench.ledger.usages] == ["failed", "failed", "answered"]
    assert balance(server, bench.ledger.usages) == 0
    first, second = bench.sleeper.slept
    assert 0.5 <= first <= 1.0 <= second <= 2.0


@both
def test_retry_after_in_seconds_is_kept_to(kind: str) -> None:
    with server_of(kind, [Turn(status=429, headers={"retry-after": "17"}), GOOD]) as server:
        bench = Bench(kind, server)
        assert bench.proposer.propose(BRIEF)
    assert bench.sleeper.slept == [17.0]


@both
def test_retry_after_as_a_date_is_read_by_the_servers_own_clock(kind: str) -> None:
    its_now = datetime(2031, 5, 6, 7, 8, 9, tzinfo=UTC)
    until = its_now + timedelta(seconds=23)
    headers = {"date": format_datetime(its_now, usegmt=True), "retry-after": format_datetime(until, usegmt=True)}
    with server_of(kind, [Turn(status=503, headers=headers), GOOD]) as server:
        bench = Bench(kind, server)
        assert bench.proposer.propose(BRIEF)
    assert bench.sleeper.slept == [23.0]


@both
def test_a_server_that_asks_for_an_hour_is_not_waited_for(kind: str) -> None:
    with server_of(kind, [Turn(status=429, headers={"retry-after": "3600"}), GOOD]) as server:
        bench = Bench(kind, server)
        with pytest.raises(CallError, match="429"):
            bench.proposer.propose(BRIEF)
    assert (bench.sleeper.slept, server.n_calls) == ([], 1)


@both
def test_it_gives_up_after_a_few_tries_as_a_fault_of_the_machine(kind: str) -> None:
    with server_of(kind, lambda request: Turn(status=500)) as server:
        bench = Bench(kind, server)
        with pytest.raises(MachineError, match="500"):
            bench.proposer.propose(BRIEF)
    assert server.n_calls == 6
    assert sum(bench.sleeper.slept) < 120
    assert len(bench.ledger.usages) == 6


@both
@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 413, 422])
def test_refusals_are_never_retried_and_name_the_variables(kind: str, status: int) -> None:
    """PS19"""
    with server_of(kind, [Turn(status=status, error="no")] + [GOOD] * 3) as server:
        bench = Bench(kind, server)
        with pytest.raises(RefusedError, match=rf"{status}.*{KEYS[kind]}.*{URLS[kind]}"):
            bench.proposer.propose(BRIEF)
    assert (server.n_calls, bench.sleeper.slept) == (1, [])
    assert [usage.outcome for usage in bench.ledger.usages] == ["failed"]
    assert balance(server, bench.ledger.usages) == 0


@both
@pytest.mark.parametrize("turn", [Turn(text=fake_answer(4), break_after=3), Turn(text=fake_answer(4), end_early=True)])
def test_half_a_stream_is_asked_for_again_and_counted_as_the_most_it_can_be(kind: str, turn: Turn) -> None:
    """PS29: nobody says what a broken stream cost. The ledger must not hold less than the provider bills."""
    with server_of(kind, [turn, GOOD]) as server:
        bench = Bench(kind, server)
        (candidate,) = bench.proposer.propose(BRIEF)
    assert candidate.files[0].text.endswith("value = 5\n"), "never the half"
    failed, answered = bench.ledger.usages
    assert (failed.outcome, answered.outcome) == ("failed", "answered")
    assert "the most it can" in failed.message
    assert balance(server, bench.ledger.usages) > 0


@both
def test_garbage_within_a_stream_is_asked_for_again(kind: str) -> None:
    event = b"event: message_start\ndata: {]\n\n" if kind == "anthropic" else b"data: {]\n\n"
    with server_of(kind, [Turn(raw=event), Turn(raw=b"\xff\xfe\x00garbage"), Turn(raw=b""), GOOD]) as server:
        bench = Bench(kind, server)
        assert bench.proposer.propose(BRIEF)
    assert server.n_calls == 4
    assert balance(server, bench.ledger.usages) >= 0


@both
@pytest.mark.parametrize("content_type", ["text/html", "application/json", ""])
def test_a_page_instead_of_a_stream_is_the_wrong_address(kind: str, content_type: str) -> None:
    with server_of(kind, [Turn(raw=b"<html>hello", content_type=content_type), GOOD]) as server:
        bench = Bench(kind, server)
        with pytest.raises(RefusedError, match=URLS[kind]):
            bench.proposer.propose(BRIEF)
    assert server.n_calls == 1
    assert balance(server, bench.ledger.usages) == 0


@both
def test_nobody_at_the_address_costs_nothing(kind: str) -> None:
    server = server_of(kind, [])
    server._server.server_close()
    bench = Bench(kind, server)
    with pytest.raises(CallError, match="cannot be reached"):
        bench.proposer.propose(BRIEF)
    assert len(bench.sleeper.slept) == 5
    assert bench.ledger.tokens == 0


@both
def test_a_silent_server_is_given_up_and_counted(kind: str) -> None:
    with server_of(kind, [Turn(text=fake_answer(1), pause_s=1.0), GOOD]) as server:
        bench = Bench(kind, server, options="?read_s=0.2")
        assert bench.proposer.propose(BRIEF)
    assert balance(server, bench.ledger.usages) > 0


@both
def test_a_server_that_trickles_is_given_up_too(kind: str) -> None:
    with server_of(kind, lambda request: Turn(text="x" * 2400)) as server:
        bench = Bench(kind, server, options="?call_s=50", tick_s=1.0)
        with pytest.raises(CallError, match="longer than 50 s"):
            bench.proposer.propose(BRIEF)
    assert balance(server, bench.ledger.usages) > 0


@both
def test_an_answer_without_usage_counts_as_the_most_it_can_be(kind: str) -> None:
    if kind == "anthropic":
        pytest.skip("its streams always say")
    with server_of(kind, [Turn(text=fake_answer(5), reports_usage=False)]) as server:
        bench = Bench(kind, server, options="?max_tokens=777")
        assert bench.proposer.propose(BRIEF)
    (usage,) = bench.ledger.usages
    assert usage.tokens_out == 777
    assert "did not say" in usage.message


@both
def test_a_cancelled_call_is_settled(kind: str) -> None:
    """PS29"""

    class Hasty:
        kind, url = "openai", "http://nowhere"

        def send(self, request: Request) -> Reply:
            raise KeyboardInterrupt

    with server_of(kind, []) as server:
        bench = Bench(kind, server)
    proposer = make_llm(parse_options(kind, "some-model?max_tokens=100"), bench.tools, Hasty())
    with pytest.raises(KeyboardInterrupt):
        proposer.propose(BRIEF)
    (usage,) = bench.ledger.usages
    assert (usage.outcome, usage.tokens_out) == ("failed", 100)
    assert "cancelled" in usage.message


@both
def test_a_key_is_sent_to_its_own_host_only(kind: str) -> None:
    """PS19: a redirect is not followed."""
    with (
        server_of(kind, [GOOD]) as other,
        server_of(kind, [Turn(status=307, headers={"location": f"{other.url}{other.endpoint}"})]) as server,
    ):
        with pytest.raises(RefusedError, match="307"):
            Bench(kind, server).proposer.propose(BRIEF)
        assert other.n_calls == 0


@both
def test_the_key_is_in_no_message_and_no_record(kind: str, caplog: pytest.LogCaptureFixture) -> None:
    """A server that says the key back, in errors and in answers, gets it into nothing that is shown or kept."""
    caplog.set_level(logging.DEBUG)
    echo = f"your key is {CANARY}"

    def script(request: Received) -> Turn:
        assert CANARY in str(request.headers)
        return [
            Turn(status=429, error=echo, headers={"retry-after": "1", "x-key": CANARY}),
            Turn(text=f"I saw {CANARY}"),
            Turn(status=401, error=echo),
        ][server.n_calls - 1]

    with server_of(kind, script) as server:
        bench = Bench(kind, server)
        with pytest.raises(RefusedError) as caught:
            bench.proposer.propose(BRIEF)
    assert "[redacted]" in str(caught.value)
    assert CANARY not in server.received[2].prompt
    kept = [str(caught.value), repr(caught.value.__cause__), repr(bench.proposer), *bench.said]
    kept += [f"{usage.answer} {usage.message}" for usage in bench.ledger.usages]
    kept += [record.getMessage() for record in caplog.records if record.name.startswith("kernelevolve")]
    assert not [text for text in kept if CANARY in text]
    assert caught.value.__suppress_context__
