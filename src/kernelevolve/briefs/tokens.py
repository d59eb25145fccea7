"""An estimate of how many tokens a text has, without any model's vocabulary. Meant to err upwards.

Counted in quarters of a token:

    run of letters          1 token for each 4 begun    (short names cost a whole token each)
    run of digits           1 token for each 2 begun
    other ASCII character   3/4 token
    run of white space      1 token with a line end in it or from 4 characters on, else 1/4 for each
    anything else           1 token for each byte of its UTF-8

The sum of the estimates of two texts is never below the estimate of both put together, so that parts may be counted
one by one.
"""

from __future__ import annotations

import re

_PART = re.compile(
    r"(?P<letters>[A-Za-z]+)|(?P<digits>[0-9]+)|(?P<space>[ \t\n]+)|(?P<mark>[\x00-\x7f])|(?P<other>.)", re.S
)


def count(text: str) -> int:
    """Estimated tokens of `text`, rounded up."""
    return -(-sum(map(_quarters, _PART.finditer(text))) // 4)


def _quarters(part: re.Match[str]) -> int:
    found = part[0]
    match part.lastgroup:
        case "letters":
            return 4 * -(-len(found) // 4)
        case "digits":
            return 4 * -(-len(found) // 2)
        case "space":
            return 4 if "\n" in found else min(len(found), 4)
        case "mark":
            return 3
    return 4 * len(found.encode(errors="replace"))
