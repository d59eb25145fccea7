"""A whole campaign on a model behind an API that fails now and then."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import count
from pathlib import Path

import pytest

from kernelevolve.campaign.assemble import continue_campaign, open_campaign
from kernelevolve.model.events import Proposed, Reserved, Settings, Settled
from kernelevolve.model.platform import PlatformFacts
from kernelevolve.store.memory import MemoryStore
from kernelevolve.testing.model_servers import OpenAIServer, Received, Turn
from kernelevolve.testing.samples import sample_task
from tests.proposers.llm.llm_parts import CANARY, fake_answer

NAME = "openai:tiny?max_tokens=500"


@pytest.mark.parametrize("n_asks", [1, 4])
def test_the_books_of_a_campaign_agree_with_the_providers_to_the_token(
    n_asks: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PS29: failed calls included. And the key is in no event."""
    numbers = count()

    def script(request: Received) -> Turn:
        number = next(numbers)
        fault = {3: Turn(status=429, headers={"retry-after-ms": "1"}), 4: Turn(text="no idea")}.get(number % 5)
        return fault or Turn(text=fake_answer(number), tokens_in=100 + number, tokens_out=10 + number)

    settings = Settings(
        proposer=NAME, platform="fake", max_candidates=8, max_seconds=60, n_asks=n_asks, max_tokens=400_000
    )
    store = MemoryStore()
    facts = PlatformFacts(name="fake", kind="cpu")
    with OpenAIServer(script, key=CANARY) as server:
        environ = {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": CANARY}
        for name, value in environ.items():
            monkeypatch.setenv(name, value)  # opening looks at the names of the settings, key included
        campaign = open_campaign(store, task=sample_task(), settings=settings, facts=facts, now=datetime.now(UTC))
        closed = continue_campaign(store, campaign, cache_dir=tmp_path, environ=environ)
        billed = server.billed_in + server.billed_out
    events = store.read(campaign)
    settled = [event for event in events if isinstance(event, Settled)]
    assert closed.winner
    assert len([event for event in events if isinstance(event, Proposed)]) == 8
    assert sum(event.tokens_in + event.tokens_out for event in settled) == billed
    assert {event.call for event in settled} == {event.call for event in events if isinstance(event, Reserved)}
    assert {event.outcome for event in settled} == {"answered", "failed"}
    assert not [event for event in events if CANARY in event.to_json()]
