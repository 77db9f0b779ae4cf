"""A server that hears or speaks for us: its key, how long we wait for it, and how often we try again."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import httpx2

RETRIED_STATUSES = frozenset({408, 429, 500, 502, 503, 504})
_RETRY_S, _MAX_RETRY_S = 0.2, 3.2
"""The longest pause before the first further try, which doubles with each one, and the most it grows to."""
_MAX_MESSAGE = 200
"""Characters of what the server says."""
_WAITS = (
    (httpx2.ConnectTimeout, "connect", "no connection"),
    (httpx2.ReadTimeout, "read", "nothing came"),
    (httpx2.WriteTimeout, "write", "it took nothing"),
    (httpx2.PoolTimeout, "pool", "no connection was free"),
)
"""Errors that have no text: the limit of each in its request, and what was waited for."""


@dataclass(eq=False)
class HostedServer:
    """Keyword arguments of every engine behind a server.

    base_url: the address up to and with `/v1`, where it has that. api_key_env: the variable of the
    environment with the key; "" for a server that wants none. connect_timeout_s: for the connection.
    timeout_s: longest wait for an answer, and for more of it. retries: further tries while there is nothing
    of it. Raises ValueError.

    failure: the error of the engine's kind. in_workers: it only asks another server and waits, so that each
    process that takes calls may have its own, and no sound goes from one process to the other.
    """

    failure: ClassVar[type[Exception]]
    in_workers: ClassVar[bool] = True

    base_url: str
    _: KW_ONLY
    api_key_env: str
    connect_timeout_s: float = 2.0
    timeout_s: float = 8.0
    retries: int = 1

    def __post_init__(self) -> None:
        if self.retries < 0:
            raise ValueError(f"retries is {self.retries}; allowed: 0 or more")

    def key(self) -> str:
        """The key; "none" for a server that wants none. Raises `failure` where it is not set."""
        key = os.environ.get(self.api_key_env, "") if self.api_key_env else "none"
        if not key:
            raise self.failed(f"the environment variable {self.api_key_env} (api_key_env) is not set")
        return key

    def client_options(self, headers: dict[str, str]) -> dict[str, Any]:
        """Keyword arguments of an httpx2 client for it."""
        timeout = httpx2.Timeout(self.timeout_s, connect=self.connect_timeout_s)
        return {"base_url": self.base_url, "headers": headers, "timeout": timeout}

    def failed(self, reason: str) -> Exception:
        """The error, with this server's address; a key that the server repeated is not shown."""
        key = os.environ.get(self.api_key_env, "") if self.api_key_env else ""
        return self.failure(f"{self.base_url}: {reason.replace(key, '***') if key else reason}")


@dataclass(eq=False)
class OpenAIServer(HostedServer):
    """One that speaks OpenAI's API, OpenAI's own unless told otherwise."""

    base_url: str = "https://api.openai.com/v1"
    _: KW_ONLY
    api_key_env: str = "OPENAI_API_KEY"


def bearer(key: str) -> dict[str, str]:
    """The header of most APIs."""
    return {"Authorization": f"Bearer {key}"}


def retry_wait_s(failures: int, random: Callable[[], float]) -> float:
    """Seconds to wait after this many failures in a row (from 1): at least half of a ceiling that doubles.

    random: draws from [0, 1), so that many calls do not all come back at once.
    """
    return min(_MAX_RETRY_S, _RETRY_S * 2.0 ** (min(failures, 10) - 1)) * (0.5 + 0.5 * random())


def told(status: int, body: str) -> str:
    """What a server said in place of an answer."""
    return f"{status}: {body[:_MAX_MESSAGE]}"


def reason_of(error: Exception) -> str:
    """Why there was no answer: where time ran out, what was waited for, and how long."""
    for kind, name, waited_for in _WAITS:
        if isinstance(error, kind):
            return f"{waited_for} within {error.request.extensions['timeout'][name]:g} s"
    return str(error) or type(error).__name__
