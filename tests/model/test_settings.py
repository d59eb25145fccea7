"""What of a campaign's settings may leave the machine."""

from __future__ import annotations

import pytest

from kernelevolve.model.events import Settings


@pytest.mark.parametrize(
    ("given", "shared"),
    [
        ("replay:/home/me/secret project/mine.jsonl", "replay:mine.jsonl"),
        ("builtin", "builtin"),
        ("mix:builtin", "mix:builtin"),
    ],
)
def test_files_are_shared_by_name_without_their_folders(given: str, shared: str) -> None:
    settings = Settings(proposer=given, knowledge="/home/me/notes").to_share()
    assert settings.proposer == shared
    assert settings.knowledge == "notes"
    assert Settings().to_share() == Settings()
