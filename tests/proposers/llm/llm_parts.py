"""Small parts for tests of models behind an API: both kinds of server, tools with a canary key, scripted answers."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable
from typing import Any

from kernelevolve.proposers import make_proposer
from kernelevolve.proposers.base import Proposer, Tools
from kernelevolve.proposers.ledger import Limits, MemoryLedger
from kernelevolve.proposers.llm.answer import Answer, Block, render_answer
from kernelevolve.testing.model_servers import AnthropicServer, ModelServer, OpenAIServer, Received, Turn

CANARY = "sk-canary-0123456789abcdef"
KINDS = ("openai", "anthropic")
SERVERS: dict[str, type[ModelServer]] = {"openai": OpenAIServer, "anthropic": AnthropicServer}
KEYS = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY"}
URLS = {"openai": "OPENAI_BASE_URL", "anthropic": "ANTHROPIC_BASE_URL"}


class Sleeper:
    """A clock that sleeping moves, and a look at it by `tick_s`."""

    def __init__(self, tick_s: float = 0.0) -> None:
        self.now_s = 0.0
        self.tick_s = tick_s
        self.slept: list[float] = []

    def clock(self) -> float:
        self.now_s += self.tick_s
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now_s += seconds


class Bench:
    """A proposer of one kind in front of a server, and everything it said and spent."""

    def __init__(
        self, kind: str, server: ModelServer, *, limits: Limits | None = None, options: str = "",
        environ: dict[str, str] | None = None, model: str = "some-model", tick_s: float = 0.0,
        sleeper: Sleeper | None = None, **tools: Any,
    ) -> None:  # fmt: skip
        self.sleeper = sleeper or Sleeper(tick_s)
        self.said: list[str] = []
        self.ledger = MemoryLedger(limits or Limits(max_tokens=10_000_000))
        self.tools = Tools(
            ledger=tools.pop("ledger", self.ledger),
            environ={KEYS[kind]: CANARY, URLS[kind]: server.url, **(environ or {})},
            clock=self.sleeper.clock,
            sleep=self.sleeper.sleep,
            say=self.said.append,
            **tools,
        )
        self.proposer: Proposer = make_proposer(f"{kind}:{model}{options}", self.tools)


def fake_source(value: int) -> str:
    return f"double\nvalue = {value}\n"


def fake_answer(value: int = 7, *, intent: str = "a number", path: str = "double.fake") -> str:
    """A valid answer in the made-up language of tests."""
    block = Block(kind="file", path=path, text=fake_source(value))
    return render_answer(Answer(language="fake", intent=intent, blocks=(block,)))


def numbered_turn(request: Received) -> Turn:
    """An answer that depends on the prompt alone."""
    digest = hashlib.sha256(request.prompt.encode()).digest()
    return Turn(text=fake_answer(random.Random(digest).randrange(10**9)))


def server_of(kind: str, script: Any, **more: Any) -> ModelServer:
    return SERVERS[kind](script, **more)


Judge = Callable[[Received], Turn]
