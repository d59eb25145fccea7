"""Where an API lives: base addresses as people write them, made into the one an SDK wants."""

from __future__ import annotations

from urllib.parse import urlsplit, urlunsplit

from kernelevolve.errors import UsageError

_ENDINGS = ("/chat/completions", "/completions", "/models", "/messages", "/complete", "/responses")


def openai_url(text: str, *, variable: str = "OPENAI_BASE_URL") -> str:
    """With /v1 when only a host was given; other paths are left as they are. Empty: the hosted API."""
    url, path = _parsed(text or "https://api.openai.com/v1", variable)
    return url + (path or "/v1")


def anthropic_url(text: str, *, variable: str = "ANTHROPIC_BASE_URL") -> str:
    """Without /v1, which this SDK adds itself. Empty: the hosted API."""
    url, path = _parsed(text or "https://api.anthropic.com", variable)
    return url + path.removesuffix("/v1")


def host_of(url: str) -> str:
    return urlsplit(url).hostname or ""


def _parsed(text: str, variable: str) -> tuple[str, str]:
    """(scheme and host, path without a slash at its end). Raises UsageError, naming the variable it came from."""
    parts = urlsplit(text.strip())
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(f"{variable}='{_shown(text)}' is no address: write http://HOST:PORT/v1 or https://HOST/v1")
    if parts.username or parts.password:
        raise UsageError(f"{variable} holds a name or password before its host: keys belong into the key's variable")
    if parts.query or parts.fragment:
        raise UsageError(f"{variable} ends in a query or fragment (? or #): write the address without it")
    path = parts.path.rstrip("/")
    for ending in _ENDINGS:
        path = path.removesuffix(ending)
    while path.endswith("/v1/v1"):
        path = path.removesuffix("/v1")
    return urlunsplit((parts.scheme, parts.netloc, "", "", "")), path.rstrip("/")


def _shown(text: str) -> str:
    """No more than a start: what was put into the wrong variable may be a key."""
    return text if len(text) <= 12 else f"{text[:12]}..."
