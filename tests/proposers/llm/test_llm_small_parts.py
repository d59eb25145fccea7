from __future__ import annotations

import random
import subprocess
import sys
import threading
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelevolve.errors import ToolMissingError, UsageError
from kernelevolve.proposers import make_proposer
from kernelevolve.proposers.base import Ledger, Tools, Usage
from kernelevolve.proposers.ledger import Limits, MemoryLedger
from kernelevolve.proposers.llm.address import anthropic_url, openai_url
from kernelevolve.proposers.llm.base import CallError, Message, Request
from kernelevolve.proposers.llm.openai_api import endpoint
from kernelevolve.proposers.llm.options import parse_options
from kernelevolve.proposers.llm.prices import price_of
from kernelevolve.proposers.llm.rate import Rate, Rates
from kernelevolve.proposers.llm.redact import Redactor
from kernelevolve.proposers.llm.retry import Retry, Waiting, asked_wait_s
from kernelevolve.proposers.llm.sdk import check_installed, counted
from kernelevolve.testing.ledger_case import LedgerCase
from kernelevolve.testing.model_servers import AnthropicServer, ModelServer, OpenAIServer, Turn
from kernelevolve.testing.proposer_case import sample_brief
from kernelevolve.testing.samples import sample_task
from tests.proposers.llm.llm_parts import KEYS, URLS, Bench, Sleeper, fake_answer

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


class TestMemoryLedger(LedgerCase):
    def make_ledger(self, folder: Path, *, max_usd: float | None, max_tokens: int | None) -> Ledger:
        return MemoryLedger(Limits(max_usd=max_usd, max_tokens=max_tokens))


def test_a_call_is_settled_once() -> None:
    ledger = MemoryLedger(Limits(max_tokens=100))
    call = ledger.reserve(ask=0, model="m", request="r", tokens=10, usd=None)
    ledger.settle(call, Usage(outcome="failed"))
    with pytest.raises(ValueError, match="not open"):
        ledger.settle(call, Usage(outcome="failed"))


FORMS = [  # who serves it, what its users write, and where it listens
    ("hosted", OpenAIServer, "/v1", "/v1"),
    ("hosted, slash at the end", OpenAIServer, "/v1/", "/v1"),
    ("vLLM", OpenAIServer, "/v1", "/v1"),
    ("vLLM, root only", OpenAIServer, "", "/v1"),
    ("SGLang, root with a slash", OpenAIServer, "/", "/v1"),
    ("Ollama", OpenAIServer, "/v1/", "/v1"),
    ("llama.cpp, root only", OpenAIServer, "", "/v1"),
    ("transformers serve", OpenAIServer, "/v1/chat/completions", "/v1"),
    ("doubled by hand", OpenAIServer, "/v1/v1", "/v1"),
    ("a router", OpenAIServer, "/api/v1", "/api/v1"),
    ("another vendor's", OpenAIServer, "/v1beta/openai/", "/v1beta/openai"),
    ("Azure's", OpenAIServer, "/openai/v1/", "/openai/v1"),
    ("hosted", AnthropicServer, "", ""),
    ("hosted with /v1", AnthropicServer, "/v1", ""),
    ("hosted, whole path", AnthropicServer, "/v1/messages", ""),
    ("a gateway", AnthropicServer, "/anthropic/", "/anthropic"),
]


@pytest.mark.parametrize(("who", "server_class", "written", "prefix"), FORMS, ids=[f"{f[0]} {f[2]}" for f in FORMS])
def test_addresses_as_people_write_them_reach_the_server(
    who: str, server_class: type[ModelServer], written: str, prefix: str
) -> None:
    """PS28: against a server that answers 404 to every other path."""
    kind = "openai" if server_class is OpenAIServer else "anthropic"
    with server_class([Turn(text=fake_answer(1))], prefix=prefix) as server:
        bench = Bench(kind, server, environ={URLS[kind]: server.root + written})
        assert bench.proposer.propose(sample_brief(sample_task()))
        assert [request.path for request in server.received] == [prefix + server.endpoint]


def test_no_address_means_the_hosted_one() -> None:
    assert openai_url("") == "https://api.openai.com/v1"
    assert anthropic_url("") == "https://api.anthropic.com"


@pytest.mark.parametrize(
    "text", ["localhost:8000", "ftp://host/v1", "https://", "https://user:secret@host/v1", "http://host/v1?key=1"]
)
def test_what_is_no_address_is_refused_without_showing_secrets(text: str) -> None:
    with pytest.raises(UsageError, match="OPENAI_BASE_URL") as caught:
        openai_url(text)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "12"}, 12.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "Fri, 02 Jan 2026 03:05:05 GMT"}, 60.0),
        ({"retry-after": "Fri, 02 Jan 2026 03:04:00 GMT"}, 0.0),
        ({"retry-after": "Fri, 02 Jan 2026 03:05:05 GMT", "date": "Fri, 02 Jan 2026 03:05:00 GMT"}, 5.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-5"}, None),
        ({"retry-after": "nan"}, None),
    ],
)
def test_retry_after_in_all_its_forms(headers: dict[str, str], seconds: float | None) -> None:
    assert asked_wait_s(headers, now=lambda: NOW) == seconds


@given(st.text(), st.text())
def test_no_header_breaks_the_waiting(after: str, date: str) -> None:
    seconds = asked_wait_s({"retry-after": after, "date": date}, now=lambda: NOW)
    assert seconds is None or seconds >= 0


def test_waits_grow_are_bounded_and_differ() -> None:
    def slept(seed: int) -> list[float]:
        sleeper = Sleeper()

        def call() -> None:
            raise CallError("busy")

        waiting = Waiting(n_tries=6, longest_s=6.0)
        with pytest.raises(CallError):
            Retry(sleep=sleeper.sleep, waiting=waiting).run(call, rng=random.Random(seed))
        return sleeper.slept

    assert slept(1) == slept(1) != slept(2)
    for wait_s, most_s in zip(slept(1), (1, 2, 4, 6, 6), strict=True):
        assert most_s / 2 <= wait_s <= most_s


def test_requests_per_minute() -> None:
    sleeper = Sleeper()
    rate = Rate(requests=60, clock=sleeper.clock, sleep=sleeper.sleep)
    for _ in range(60):
        rate.wait(1000)
    assert sleeper.slept == []
    for _ in range(30):
        rate.wait(1000)
    assert sleeper.now_s == pytest.approx(30)


def test_tokens_per_minute_are_corrected_by_what_was_taken() -> None:
    sleeper = Sleeper()
    rate = Rate(tokens=6000, clock=sleeper.clock, sleep=sleeper.sleep)
    rate.wait(1000)
    rate.correct(+5000)
    rate.wait(1000)
    assert sleeper.now_s == pytest.approx(10)
    rate.wait(50_000)
    assert sleeper.now_s == pytest.approx(10 + 60), "more than a minute holds waits for a full bucket, not for ever"


def test_one_address_has_one_rate_for_all_threads() -> None:
    sleeper, rates = Sleeper(), Rates()
    found = set()

    def look() -> None:
        found.add(id(rates.of("http://a", requests=5, tokens=None, clock=sleeper.clock, sleep=sleeper.sleep)))

    threads = [threading.Thread(target=look) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 1
    assert id(rates.of("http://b", requests=5, tokens=None, clock=sleeper.clock, sleep=sleeper.sleep)) not in found


def test_two_models_behind_one_address_share_its_limit() -> None:
    with OpenAIServer(lambda request: Turn(text=fake_answer(1))) as server:
        bench = Bench("openai", server, environ={"KERNELEVOLVE_LLM_RPM": "2"})
        other = Bench("openai", server, environ={"KERNELEVOLVE_LLM_RPM": "2"}, sleeper=bench.sleeper, model="other")
        for number, proposer in enumerate((bench.proposer, other.proposer, bench.proposer, other.proposer)):
            proposer.propose(sample_brief(sample_task(), seed=number))
    assert bench.sleeper.now_s == pytest.approx(60)


def price(model: str, host: str = "api.openai.com", environ: Mapping[str, str] | None = None) -> float | None:
    found = price_of(model, host=host, environ=environ or {})
    return found.of(tokens_in=1_000_000, tokens_out=1_000_000) if found else None


def test_prices_are_of_a_model_at_its_host_and_never_guessed() -> None:
    """PS59: unknown is None, not zero."""
    assert price("gpt-5") == 11.25
    assert price("gpt-5-2025-08-07") == 11.25
    assert price("claude-sonnet-4-5-20250929", "api.anthropic.com") == 18.0
    assert price("gpt-5-pro") is None
    assert price("gpt-5", "localhost") is None
    assert price("GPT-5") is None


def test_ones_own_prices_come_first(tmp_path: Path) -> None:
    path = tmp_path / "prices.toml"
    path.write_text('[[price]]\nhost = "*"\nas_of = "2026-05"\nmodels = { "gpt-5" = [1, 2], "qwen" = [0, 0] }\n')
    environ = {"KERNELEVOLVE_PRICES": str(path)}
    assert price("gpt-5", environ=environ) == 3.0
    assert price("qwen", "localhost", environ) == 0.0
    for bad in ("price = 1", '[[price]]\nhost="*"\nas_of="2026-05"\nmodels = { "a" = [-1, 2] }', "[[", "x"):
        path.write_text(bad)
        with pytest.raises(UsageError, match=r"prices\.toml"):
            price("gpt-5", environ=environ)


def test_keys_are_taken_out_in_every_form_and_placeholders_are_left() -> None:
    redactor = Redactor(["key/with+odd=signs", "none", ""])
    assert redactor.clean("a key/with+odd=signs b key%2Fwith%2Bodd%3Dsigns c") == "a [redacted] b [redacted] c"
    assert redactor.clean("none is none") == "none is none"


def test_a_question_has_one_identity_and_another_question_another() -> None:
    def identity(text: str = "x", endpoint: str = "e", ask: int = 1, seed: int = 1) -> str:
        request = Request(model="m", system="s", messages=(Message(role="user", text=text),), max_tokens=10)
        return request.identity(endpoint=endpoint, ask=ask, seed=seed)

    assert identity() == identity()
    others = {identity(text="y"), identity(endpoint="f"), identity(ask=2), identity(seed=2)}
    assert len(others | {identity()}) == 5


def test_a_key_is_not_shown_by_what_prints_objects() -> None:
    made = endpoint(parse_options("openai", "m"), Tools(environ={KEYS["openai"]: "sk-canary-xyz-123"}))
    assert "canary" not in repr(made) + repr(made._access)


@pytest.mark.parametrize("key", ["sk-canary one", "sk-canary\nX-Other: 1", "sk-canary-\u00e9"])
def test_a_key_that_cannot_be_sent_is_refused_unseen(key: str) -> None:
    with pytest.raises(UsageError, match="OPENAI_API_KEY") as caught:
        make_proposer("openai:m", Tools(environ={KEYS["openai"]: key}))
    assert "canary" not in str(caught.value)


@pytest.mark.parametrize("reported", [-5, 10**12, None, "many"])
def test_usage_that_cannot_be_true_is_not_believed(reported: object) -> None:
    assert counted(reported) is None


def test_a_missing_sdk_is_named_with_the_line_that_installs_it() -> None:
    with pytest.raises(ToolMissingError, match=r"pip install 'kernelevolve\[llm\]'"):
        check_installed("no_such_sdk")


def test_the_core_loads_no_sdk() -> None:
    code = (
        "import sys, kernelevolve.proposers, kernelevolve.proposers.llm.openai_api as a, "
        "kernelevolve.proposers.llm.anthropic_api as b\n"
        "print([m for m in ('openai', 'anthropic', 'httpx', 'httpx2', 'torch') if m in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
