"""A call to a model that is counted: looked up, set aside, made, settled. Whatever happens, it is settled."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from kernelevolve.proposers.base import Ledger, Usage
from kernelevolve.proposers.llm.base import UNKNOWN, CallError, Endpoint, RefusedError, Reply, Request, Taken
from kernelevolve.proposers.llm.prices import Price
from kernelevolve.proposers.llm.rate import Rate
from kernelevolve.proposers.llm.retry import Retry


@dataclass(frozen=True, kw_only=True)
class Caller:
    name: str
    """Under which its calls stand in the ledger: openai:MODEL."""
    endpoint: Endpoint
    ledger: Ledger
    price: Price | None
    rate: Rate
    retry: Retry
    say: Callable[[str], None] = lambda text: None

    def ask(self, request: Request, *, ask: int, seed: int) -> Reply:
        """The reply, from the ledger when this question was paid for before. Each try is a call of its own in the
        ledger, because each may be billed. Raises SpentError, RefusedError, and CallError when it kept failing."""
        identity = request.identity(endpoint=f"{self.endpoint.kind} {self.endpoint.url}", ask=ask, seed=seed)
        known = self.ledger.answer(identity)
        if known is not None:
            return Reply.from_json(known)
        return self.retry.run(lambda: self._once(request, identity, ask), rng=random.Random(f"{seed} {identity}"))

    def _once(self, request: Request, identity: str, ask: int) -> Reply:
        most_in, most_out = request.most_tokens_in, request.max_tokens
        expected = most_in // 3
        self.rate.wait(expected)
        call = self.ledger.reserve(
            ask=ask, model=self.name, request=identity, tokens=most_in + most_out, usd=self._usd(most_in, most_out)
        )  # fmt: skip
        try:
            reply = self.endpoint.send(request)
        except (CallError, RefusedError) as error:
            taken = error.taken if isinstance(error, CallError) else Taken(known=True)
            self._settle_failed(call, request, taken, str(error))
            raise
        except BaseException as error:  # cancelled: it may have been billed
            self._settle_failed(call, request, UNKNOWN, f"cancelled: {type(error).__name__}")
            raise
        usage = self._usage(reply, request)
        self.ledger.settle(call, usage)
        self.rate.correct(usage.tokens_in + usage.tokens_out - expected)
        cost = "unpriced" if usage.usd is None else f"${usage.usd:.4f}"
        self.say(f"{self.name}: {usage.tokens_in} tokens in, {usage.tokens_out} out, {cost}")
        return reply

    def _usage(self, reply: Reply, request: Request) -> Usage:
        counted = reply.tokens_in is not None and reply.tokens_out is not None
        tokens_in = request.most_tokens_in if reply.tokens_in is None else reply.tokens_in
        tokens_out = request.max_tokens if reply.tokens_out is None else reply.tokens_out
        return Usage(
            outcome="answered",
            tokens_in=tokens_in,
            tokens_out=tokens_out,
            usd=self._usd(tokens_in, tokens_out),
            answer=reply.to_json(),
            message="" if counted else "the provider did not say what was used: the most it can be is counted",
        )

    def _settle_failed(self, call: int, request: Request, taken: Taken, message: str) -> None:
        """What is not known counts as the most it can be: a limit that is passed unseen is no limit."""
        tokens_in = taken.tokens_in if taken.known else request.most_tokens_in
        tokens_out = taken.tokens_out if taken.known else request.max_tokens
        usage = Usage(
            outcome="failed",
            tokens_in=tokens_in,
            tokens_out=tokens_out,
            usd=self._usd(tokens_in, tokens_out),
            message=message if taken.known else f"{message}; the most it can have used is counted",
        )
        self.ledger.settle(call, usage)

    def _usd(self, tokens_in: int, tokens_out: int) -> float | None:
        return None if self.price is None else self.price.of(tokens_in=tokens_in, tokens_out=tokens_out)
