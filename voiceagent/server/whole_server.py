"""The whole server, in one process or in many, as its routes need it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any, Protocol

from llmcore.policies.admission import Refusal
from voiceagent.access.access_control import CallAsked
from voiceagent.access.client_secrets import ClientSecret
from voiceagent.server.status import TriageResult
from voiceagent.transports.realtime.sidebands.messages import Relayed
from voiceagent.transports.relay import FromClient


class WholeServer(Protocol):
    """Operations of the whole server that routes need."""

    def refusal(self, calls: int, answered: int | None) -> Refusal | None:
        """Return a refusal if one more call besides `calls` others would not be served in time, and count it.

        answered: number of the other calls that the LLM answers; None if this call only transcribes.
        """

    async def health(self) -> dict[str, Any]:
        """Return the body of `GET /health`."""

    async def load(self) -> dict[str, Any]:
        """Return the body of `GET /load`."""

    async def metrics_page(self) -> bytes:
        """Return the page for Prometheus."""

    async def triage(self) -> TriageResult:
        """Return the diagnosis of slow calls."""

    async def share_secret(self, secret: ClientSecret) -> None:
        """Make a client secret known to all processes that accept calls."""

    async def hang_up(self, asked: CallAsked) -> bool:
        """End a call of another process of this server. Return True if one had it."""

    def sideband(
        self, asked: CallAsked, messages: AsyncIterator[FromClient]
    ) -> AsyncGenerator[Relayed, None]:
        """Attach to a call of another process of this server: see `Relay`."""

    def phone_stream(self, name: str, messages: AsyncIterator[FromClient]) -> AsyncGenerator[Any, None]:
        """Continue a phone call of another process of this server: see `resuming.Elsewhere`."""
