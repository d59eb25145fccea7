from __future__ import annotations

from private_server import postgres_url

__all__ = ["postgres_url"]
