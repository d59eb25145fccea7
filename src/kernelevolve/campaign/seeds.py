"""Everything random in a campaign, derived from what is stored: a resumed campaign draws the same numbers."""

from __future__ import annotations

import hashlib
import random


def move_seed(seed: int, number: int, attempt: int = 0) -> int:
    """For the proposer, about a question or a step. A function of its arguments only."""
    return int(_digest("propose", seed, number, attempt)[:15], 16)


def policy_rng(seed: int, number: int, attempt: int = 0) -> random.Random:
    return random.Random(_digest("policy", seed, number, attempt))


def inject_rng(seed: int, ask: int, n_proposed: int) -> random.Random:
    """Decides whether a draft is written by the proposer or taken from an earlier campaign."""
    return random.Random(_digest("inject", seed, ask, n_proposed))


def job_secret(campaign_secret: str, level: str) -> str:
    """Seeds the judge's draws. One per level: screens of a campaign share their draws and answers, a claim is made on
    content that no screen has used. Unknown to whoever does not know the campaign's secret."""
    return _digest(campaign_secret, level)


def _digest(*parts: object) -> str:
    return hashlib.sha256("\n".join(map(str, parts)).encode()).hexdigest()
