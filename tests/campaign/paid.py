"""A model that must be paid for, made small: it writes down what it served, and its client keeps honest books."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from kernelevolve.campaign.ledger import spent
from kernelevolve.errors import MachineError, RecordError
from kernelevolve.model.brief import Brief
from kernelevolve.model.candidate import Candidate, Origin
from kernelevolve.model.events import Settled
from kernelevolve.model.task import SourceFile
from kernelevolve.proposers.base import Ledger, Usage
from kernelevolve.search.tree import Tree

TOKENS_IN, TOKENS_OUT = 100, 50
TOKENS = TOKENS_IN + TOKENS_OUT  # of every call, so that what is set aside is what is taken
USD = 0.25


class Provider:
    """Serves from another world: its own file outlives any crash of its clients."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def call(self, request: str, seed: int, n: int) -> str:
        with self._file.open("a") as file:
            file.write(json.dumps({"request": request, "tokens": TOKENS}) + "\n")
        rng = random.Random(seed)
        return json.dumps([rng.randrange(1000) for _ in range(n)])

    def served(self) -> Counter[str]:
        """Request -> how often."""
        lines = self._file.read_text().splitlines() if self._file.exists() else []
        return Counter(json.loads(line)["request"] for line in lines)


class PaidProposer:
    """`step` is told of each moment of a call: "reserved", "called", "settled"."""

    name = "paid"

    def __init__(self, ledger: Ledger, provider: Provider, step: Callable[[str], None] = lambda moment: None) -> None:
        self._ledger = ledger
        self._provider = provider
        self._step = step

    def propose(self, brief: Brief) -> list[Candidate]:
        """Raises RecordError for garbage, MachineError when the connection breaks."""
        request = brief.content_id
        answer = self._ledger.answer(request)
        if answer is None:
            answer = self._call(request, brief)
        numbers = json.loads(answer)
        if numbers is None:
            raise RecordError("the model answered with garbage")
        return [number_candidate(brief.task.entry, number) for number in numbers]

    def _call(self, request: str, brief: Brief) -> str:
        call = self._ledger.reserve(ask=brief.ask, model="paid-1", request=request, tokens=TOKENS, usd=USD)
        self._step("reserved")
        usage = Usage(outcome="failed", tokens_in=TOKENS_IN, tokens_out=TOKENS_OUT, usd=USD, message="broken off")
        try:
            answer = self._provider.call(request, brief.seed, brief.n_wanted)
            self._step("called")
            usage = Usage(
                outcome="answered", tokens_in=TOKENS_IN, tokens_out=TOKENS_OUT, usd=USD, answer=answer
            )  # fmt: skip
        except ConnectionError as error:
            raise MachineError(f"the model broke off: {error}") from error
        finally:
            self._ledger.settle(call, usage)
        self._step("settled")
        return answer


def number_candidate(entry: str, number: int) -> Candidate:
    origin = Origin(proposer="paid", recipe="number", parameters={"value": str(number)})
    return Candidate(
        language="fake", files=(SourceFile(path=f"{entry}.fake", text=f"value = {number}\n"),), origin=origin
    )


def assert_books_balance(tree: Tree, served: Counter[str]) -> None:
    """To the token: every call that was served was set aside before and is booked once; of two calls for the same
    request all but the last were lost or failed; a call nobody served is one that was lost on the way there."""
    reserved = Counter(one.request for one in tree.reserved.values())
    assert set(tree.settled) == set(tree.reserved)
    assert not served - reserved, "something was served that nothing was set aside for"
    unserved = sum((reserved - served).values())
    useless = Counter(tree.reserved[call].request for call, one in tree.settled.items() if one.outcome != "answered")
    lost = sum(one.outcome == "lost" for one in tree.settled.values())
    assert unserved <= lost
    assert spent(tree).tokens == TOKENS * (sum(served.values()) + unserved)
    assert spent(tree).usd == USD * (sum(served.values()) + unserved)
    asks = {(one.ask, one.request) for one in tree.reserved.values()}
    assert len(asks) == len({ask for ask, _ in asks}), "a question was put again in other words"
    for request, count in served.items():
        assert count <= 1 + useless[request], f"{request} was paid for twice"


def outcomes(tree: Tree) -> Counter[str]:
    return Counter(one.outcome for one in tree.settled.values() if isinstance(one, Settled))
