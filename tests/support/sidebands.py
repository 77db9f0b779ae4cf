"""Sidebands of calls, as the unmodified `openai` SDK opens them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from openai import AsyncOpenAI
from sdk_caller import SdkCaller


@asynccontextmanager
async def sideband(address: str, call_id: str, key: str = "none") -> AsyncIterator[SdkCaller]:
    """A sideband of the call `call_id`, whose `session.created` has come."""
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
    """The id of a call over WebRTC, by its `Location`."""
    return location.rpartition("/")[2]
