"""A call whose connection is lost in the middle of an answer, on a server as users start it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from openai import AsyncOpenAI
from served import calls_at, lent, served

CONFIG = Path(__file__).parents[2] / "tests/bench/fixed.toml"
AWAY_S = 1.5


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=["1", "3"])
async def shared_server(request: pytest.FixtureRequest) -> AsyncIterator[str]:
    async with served(CONFIG, options=("--workers", request.param)) as address:
        yield address


@pytest.fixture
async def address(shared_server: str) -> AsyncIterator[str]:
    """Yield the address of a server of one worker, and of one of three."""
    async with lent(shared_server) as address:
        yield address


async def events_until(connection: Any, kind: str, times: int = 1) -> list[Any]:
    """Return all events up to this one of a kind."""
    events: list[Any] = []
    async with asyncio.timeout(60):
        while sum(event.type == kind for event in events) < times:
            events.append(await connection.recv())
    return events


async def test_an_answer_goes_on_after_a_lost_connection_with_no_event_missing_or_twice(address: str) -> None:
    sdk = AsyncOpenAI(base_url=f"http://{address}/v1", api_key="none")
    async with sdk.realtime.connect(model="voiceagent", extra_query={"resume_s": "30"}) as lost:
        question: Any = {"type": "input_text", "text": "When is breakfast?"}
        item: Any = {"type": "message", "role": "user", "content": [question]}
        await lost.conversation.item.create(item=item)
        await lost.response.create()
        before = await events_until(lost, "response.output_audio.delta", 5)
        lost._connection.transport.abort()
    await asyncio.sleep(AWAY_S)
    assert await calls_at(address) == 1
    created = before[0]
    again = {"session_id": created.session.id, "after": before[-1].event_id}
    async with sdk.realtime.connect(model="voiceagent", extra_query=again) as resumed:
        after = await events_until(resumed, "response.done")
        assert await calls_at(address) == 1
    assert after[-1].response.status == "completed"
    numbers = [int(event.event_id.removeprefix("event_")) for event in (*before, *after)]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    async with asyncio.timeout(20):
        while await calls_at(address):  # noqa: ASYNC110 - no notification tells of it
            await asyncio.sleep(0.1)


async def test_a_live_session_goes_on_after_a_lost_connection_with_no_event_missing_or_twice(
    address: str,
) -> None:
    sdk = AsyncOpenAI(base_url=f"http://{address}/v1", api_key="none")
    async with sdk.live.connect(extra_query={"resume_s": "30"}) as lost:
        await lost.session.start(session={"model": "voiceagent"})
        await lost.session.commentary.append(content="Breakfast is at seven.", delegation_id=None)
        before = await events_until(lost, "session.output_audio.delta", 5)
        lost._connection.transport.abort()
    await asyncio.sleep(AWAY_S)
    assert await calls_at(address) == 1
    again = {"session_id": before[0].session.id, "after": before[-1].to_dict()["event_id"]}
    async with sdk.live.connect(extra_query=again) as resumed:
        after = await events_until(resumed, "session.output_audio.delta", 5)
        await resumed.session.close()
        after += await events_until(resumed, "session.closed")
    assert await calls_at(address) == 0
    numbers = [int(event.to_dict()["event_id"].removeprefix("event_")) for event in (*before, *after)]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
