"""BM25: ranks texts by the words they share with a question, rare words counting more."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence

SATURATION, LENGTH_SHARE = 1.2, 0.75
"""How soon a repeated word stops counting, and how much a long text is held against itself: the usual values."""
TITLE, TITLE_BONUS = 3, 1.5
"""A word of the title counts as that many of the text, and adds so much by itself: what a text is about counts more
than what it mentions, however often."""
_WORD = re.compile(r"[a-z0-9]{2,}")
_COMMON = frozenset(
    {"the", "and", "for", "are", "with", "that", "this", "from", "not", "but", "can", "all", "one", "has", "its",
     "into", "than", "then", "over", "what", "of", "to", "in", "is", "it", "on", "or", "by", "as", "at", "be"}
)  # fmt: skip


def words_of(text: str) -> list[str]:
    """Lower case, in order, without the commonest. `snake_case` and CamelCase fall apart; a plural `s` is cut."""
    parted = re.sub(r"([a-z])([A-Z])", r"\1 \2", text)
    return [_stem(word) for word in _WORD.findall(parted.lower()) if word not in _COMMON]


def _stem(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


class Ranking:
    def __init__(self, texts: Sequence[tuple[str, str]]) -> None:
        """`texts`: titles and bodies."""
        self._titles = [frozenset(words_of(title)) for title, _ in texts]
        self._counts = [Counter(words_of(title) * TITLE + words_of(text)) for title, text in texts]
        self._lengths = [sum(counts.values()) for counts in self._counts]
        self._mean = sum(self._lengths) / max(1, len(self._lengths)) or 1.0
        self._n_with = Counter(word for counts in self._counts for word in counts)

    def score(self, number: int, wanted: Iterable[str]) -> float:
        """Of text `number`; 0 when it has none of the words."""
        counts, total = self._counts[number], 0.0
        length = 1 - LENGTH_SHARE + LENGTH_SHARE * self._lengths[number] / self._mean
        for word in sorted(set(wanted)):
            if n := counts[word]:
                n_with = self._n_with[word]
                rarity = math.log(1 + (len(self._counts) - n_with + 0.5) / (n_with + 0.5))
                bonus = TITLE_BONUS if word in self._titles[number] else 0.0
                total += rarity * (bonus + n * (SATURATION + 1) / (n + SATURATION * length))
        return total
