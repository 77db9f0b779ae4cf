"""What recognizers and voices behind OpenAI's API for sound share: the key, time limits, further tries."""

from __future__ import annotations

import os
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import httpx2

RETRIED_STATUSES = frozenset({408, 429, 500, 502, 503, 504})
RETRY_S = 0.2
"""Between two tries."""
_MAX_MESSAGE = 200
"""Characters of what the server says."""


@dataclass(eq=False)
class OpenAIServer:
    """Keyword arguments of every engine behind such a server.

    base_url: the address up to and with `/v1`. api_key_env: the variable of the environment with the key; ""
    for a server that wants none. connect_timeout_s: for the connection. timeout_s: longest wait for an
    answer, and for more of it. retries: further tries while there is nothing of it. Raises ValueError.

    failure: the error of the engine's kind.
    """

    failure: ClassVar[type[Exception]]

    base_url: str = "https://api.openai.com/v1"
    _: KW_ONLY
    api_key_env: str = "OPENAI_API_KEY"
    connect_timeout_s: float = 2.0
    timeout_s: float = 8.0
    retries: int = 1

    def __post_init__(self) -> None:
        if self.retries < 0:
            raise ValueError(f"retries is {self.retries}; allowed: 0 or more")

    def client_options(self) -> dict[str, Any]:
        """Keyword arguments of an httpx2 client for it. Raises `failure` where the key is not set."""
        key = os.environ.get(self.api_key_env, "") if self.api_key_env else "none"
        if not key:
            raise self.failed(f"the environment variable {self.api_key_env} (api_key_env) is not set")
        return {
            "base_url": self.base_url,
            "headers": {"Authorization": f"Bearer {key}"},
            "timeout": httpx2.Timeout(self.timeout_s, connect=self.connect_timeout_s),
        }

    def failed(self, reason: str) -> Exception:
        """The error that says so of this server."""
        return self.failure(f"{self.base_url}: {reason}")


def told(status: int, body: str) -> str:
    """What a server said in place of an answer."""
    return f"{status}: {body[:_MAX_MESSAGE]}"


def reason_of(error: httpx2.HTTPError) -> str:
    """Why there was no answer; some of these errors have no text."""
    return str(error) or type(error).__name__
