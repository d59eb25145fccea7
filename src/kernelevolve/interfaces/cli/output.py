"""Two ways to say a result: one JSON object, or text for people."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

PLAIN_WIDTH = 120
"""Columns assumed when the output is no terminal."""


def emit(command: str, as_json: bool, data: Mapping[str, Any], render: Callable[[Console], None]) -> None:
    """`data` as `kernelevolve.<command>/1`, or whatever `render` prints."""
    if as_json:
        print_json(command, data)
    else:
        render(make_console())


def print_json(command: str, data: Mapping[str, Any]) -> None:
    """Plain ASCII, so that no terminal and no pipe can choke on it."""
    print(json.dumps({"schema": f"kernelevolve.{command}/1", **data}, allow_nan=False))


def make_console(*, stderr: bool = False) -> Console:
    """Nothing a candidate wrote is ever read as markup."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else PLAIN_WIDTH
    return Console(stderr=stderr, markup=False, highlight=False, emoji=False, width=width)
