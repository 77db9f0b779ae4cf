"""Requests to a provider outside the audio stream: hang up, transfer."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Protocol

import httpx2

from audio.hosted.server import describe_error

TIMEOUT_S = 10.0


_NOT_SENT = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.InvalidURL)


class ControlError(Exception):
    """A request that the provider did not carry out; the text is the reason.

    refused: False if the provider may have received the request and carried it out all the same.
    """

    def __init__(self, reason: str, refused: bool = True) -> None:
        super().__init__(reason)
        self.refused = refused


class CallControl(Protocol):
    """Control of one call through its provider's API."""

    @property
    def transfers(self) -> bool:
        """True if calls can be transferred."""

    async def hang_up(self) -> None:
        """End the call. Raise ControlError."""

    async def transfer(self, number: str) -> None:
        """Connect the caller to `number`, which ends the call's stream. Raise ControlError."""

    async def join(self, other: str) -> None:
        """Connect this call and the provider's call with the id `other`, which ends both streams. This call
        is moved first: if that fails, the other one stays with its agent. Raise ControlError.
        """

    async def send_digits(self, digits: str) -> bool:
        """Send keys, with "w" for pauses of half a second. Return False if the API cannot: then they are sent
        as tones. Raise ControlError.
        """


@dataclass(frozen=True, slots=True)
class RestRequest:
    """A request to a provider's REST API, with a form or JSON body. user: name and password."""

    method: str
    url: str
    form: Mapping[str, str | Sequence[str]] | None = None
    json: Mapping[str, Any] | None = None
    user: tuple[str, str] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


async def send(request: RestRequest) -> Mapping[str, Any]:
    """Send a request and return the JSON object of the answer, empty if it has none. Raise ControlError; its
    text never contains a key.
    """
    said = await send_for_json(request)
    return said if isinstance(said, dict) else {}


@cache
def _certificates() -> ssl.SSLContext:
    """Read the authorities' certificates once: it takes 20 to 70 ms, too long for the event loop of calls."""
    return httpx2.create_ssl_context()


async def send_for_json(request: RestRequest) -> Any:
    """Send a request. Return the answer's JSON value, None without one. Raise ControlError, as `send`."""
    certificates = await asyncio.to_thread(_certificates)
    try:
        async with httpx2.AsyncClient(timeout=TIMEOUT_S, verify=certificates) as client:
            answer = await client.request(
                request.method,
                request.url,
                data=request.form,
                json=request.json,
                auth=request.user,
                headers=dict(request.headers),
            )
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        reason = f"{request.method} {request.url}: {describe_error(error)}"
        raise ControlError(reason, refused=isinstance(error, _NOT_SENT)) from error
    if not answer.is_success:
        why = " ".join(answer.text.split())[:200]
        reason = f"{request.method} {request.url}: HTTP {answer.status_code}: {why}"
        raise ControlError(reason, refused=not answer.is_server_error)  # a proxy's 502 tells nothing
    try:
        return answer.json()
    except ValueError:
        return None
