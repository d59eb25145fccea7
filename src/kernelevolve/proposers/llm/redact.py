"""Keys out of everything that is shown or kept."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import quote

MIN_LENGTH = 8  # shorter ones are placeholders such as "none", and replacing them would spoil ordinary text
MARK = "[redacted]"


class Redactor:
    def __init__(self, secrets: Iterable[str]) -> None:
        found = {secret.strip() for secret in secrets if len(secret.strip()) >= MIN_LENGTH}
        forms = found | {quote(secret, safe="") for secret in found}
        self._secrets = sorted(forms, key=len, reverse=True)

    def clean(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, MARK)
        return text
