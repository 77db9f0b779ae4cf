"""Sidebands of calls, opened through the unmodified `openai` SDK."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from openai import AsyncOpenAI
from sdk_caller import SdkCaller


@asynccontextmanager
async def sideband(address: str, call_id: str, key: str = "none") -> AsyncIterator[SdkCaller]:
    """Open a sideband of the call `call_id`; yields it once `session.created` has arrived."""
    sdk = AsyncOpenAI(api_key=key, base_url=f"http://{address}/v1")
    async with sdk.realtime.connect(call_id=call_id) as connection:
        attached = SdkCaller(connection)
        listening = asyncio.create_task(attached.listen())
        try:
            await attached.until("session.created")
            yield attached
        finally:
            listening.cancel()
            await asyncio.gather(listening, return_exceptions=True)
        attached.check()


def call_id_of(location: str) -> str:
    """Return the id of a call over WebRTC, from its `Location`."""
    return location.rpartition("/")[2]
