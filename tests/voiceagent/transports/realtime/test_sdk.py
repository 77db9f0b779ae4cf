"""The unmodified `openai` SDK talks to the WebSocket end; the calls behind it are scripted."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import numpy as np
import pytest
from call_settings import call_settings
from openai import AsyncOpenAI
from openai.resources.realtime.realtime import AsyncRealtimeConnection
from realtime_server import RealtimeServer, serving
from scripted_call import ScriptedCall
from websockets.exceptions import InvalidStatus

from llmcore.engine import ToolCall, Usage
from voiceagent.access.auth import ApiKeys
from voiceagent.conversation import events as ev
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.history import ToolOutputItem

FRAME = np.full(480, 7, np.int16)


@asynccontextmanager
async def connected(**options: Any) -> AsyncIterator[tuple[RealtimeServer, AsyncRealtimeConnection]]:
    async with serving(ApiKeys(frozenset({"k1"})), **options) as server:
        sdk = AsyncOpenAI(api_key="k1", base_url=f"http://127.0.0.1:{server.port}/v1")
        async with sdk.realtime.connect(model="some-model") as connection:
            yield server, connection


async def until(connection: AsyncRealtimeConnection, kind: str) -> list[Any]:
    """All events up to the first of a kind."""
    events: list[Any] = []
    async with asyncio.timeout(20):
        while not events or events[-1].type != kind:
            events.append(await connection.recv())
    return events


def answer_by_voice(call: ScriptedCall, request: ev.ClientRequest) -> None:
    if isinstance(request, ev.ResponseRequested):
        client = call.client
        client.notify(notify.NotifyResponseStarted("resp_1", "audio"))
        client.notify(notify.NotifyResponseText("resp_1", "item_1", None, "Hello."))
        client.play("resp_1", FRAME)
        client.play("resp_1", FRAME)
        client.notify(notify.NotifyResponseEnded("resp_1", "completed", usage=Usage(10, 0, 3)))


def answer_by_tool(call: ScriptedCall, request: ev.ClientRequest) -> None:
    if isinstance(request, ev.ResponseRequested):
        client = call.client
        client.notify(notify.NotifyResponseStarted("resp_1", "audio"))
        weather = ToolCall("call_1", "weather", '{"city":"Bonn"}')
        client.notify(notify.NotifyToolCall("resp_1", "item_1", None, weather))
        client.notify(notify.NotifyResponseEnded("resp_1", "completed"))


async def test_base_url_and_key_are_all_that_a_client_must_change() -> None:
    async with connected() as (server, connection):
        event = await connection.recv()
        assert event.type == "session.created"
        assert event.session.type == "realtime"
        assert server.call.model == "some-model"


async def test_a_wrong_key_is_the_sdks_own_error() -> None:
    async with serving(ApiKeys(frozenset({"k1"}))) as server:
        sdk = AsyncOpenAI(api_key="k2", base_url=f"http://127.0.0.1:{server.port}/v1")
        with pytest.raises(InvalidStatus):
            async with sdk.realtime.connect(model="m"):
                pass


async def test_the_sdk_hears_a_response() -> None:
    async with connected(prepare=lambda: {"answer": answer_by_voice}) as (_, connection):
        await connection.response.create()
        events = await until(connection, "response.done")
        sound = b"".join(
            base64.b64decode(event.delta) for event in events if event.type == "response.output_audio.delta"
        )
        assert sound == FRAME.tobytes() * 2
        response = events[-1].response
        assert response.output[0].content[0].transcript == "Hello."
        assert response.usage.total_tokens == 13


async def test_the_sdk_runs_a_tool() -> None:
    async with connected(prepare=lambda: {"answer": answer_by_tool}) as (server, connection):
        tool: Any = {"type": "function", "name": "weather", "parameters": {"type": "object"}}
        await connection.session.update(session={"type": "realtime", "tools": [tool]})
        await connection.response.create()
        call = (await until(connection, "response.done"))[-1].response.output[0]
        assert (call.name, call.arguments) == ("weather", '{"city":"Bonn"}')
        await connection.conversation.item.create(
            item={"type": "function_call_output", "call_id": call.call_id, "output": "sunny"}
        )
        await server.call.until(lambda call: isinstance(call.requests[-1], ev.ItemCreated))
        created = server.call.requests[-1]
        assert isinstance(created, ev.ItemCreated)
        assert isinstance(created.item, ToolOutputItem)
        assert created.item.output == "sunny"


async def test_a_session_keeps_its_tools_where_an_update_has_one_whose_schema_is_none() -> None:
    async with connected() as (server, connection):
        tool: Any = {"type": "function", "name": "weather", "parameters": {"type": "object"}}
        await connection.session.update(session={"type": "realtime", "tools": [tool]})
        wrong = {**tool, "name": "fly", "parameters": {"type": "anything"}}
        await connection.session.update(
            session={"type": "realtime", "tools": [wrong], "instructions": "Fly."}
        )
        error = (await until(connection, "error"))[-1].error
        assert (error.code, error.param) == (
            "invalid_function_parameters",
            "session.tools[0].parameters.type",
        )
        settings = [each.settings for each in server.call.requests if isinstance(each, ev.SettingsChanged)]
        assert [[known.name for known in each.tools] for each in settings] == [["weather"]]


async def test_every_method_of_the_sdk_is_understood() -> None:
    async with connected() as (server, connection):
        sound = base64.b64encode(FRAME.tobytes()).decode()
        await connection.session.update(session={"type": "realtime"})
        await connection.input_audio_buffer.append(audio=sound)
        await connection.input_audio_buffer.commit()
        await connection.input_audio_buffer.clear()
        await connection.output_audio_buffer.clear()
        await connection.conversation.item.delete(item_id="i")
        await connection.conversation.item.retrieve(item_id="i")
        await connection.conversation.item.truncate(item_id="i", content_index=0, audio_end_ms=10)
        await connection.response.cancel()
        await connection.response.create(response={"conversation": "none", "output_modalities": ["text"]})
        await server.call.until(lambda call: len(call.requests) == 9)
        assert len(server.call.heard) == 1
        assert [type(request) for request in server.call.requests] == [
            ev.SettingsChanged,
            ev.InputCommitted,
            ev.InputCleared,
            ev.OutputCleared,
            ev.ItemDeleted,
            ev.ItemRetrieved,
            ev.ItemTruncated,
            ev.ResponseCancelled,
            ev.ResponseRequested,
        ]


async def test_the_sdk_can_ask_for_latency_events() -> None:
    async with connected() as (server, connection):
        session: Any = {"type": "realtime", "voiceagent": {"latency": True}}
        await connection.session.update(session=session)
        await until(connection, "session.updated")
        assert server.call.settings.latency_events


async def test_an_error_reaches_the_sdk_with_the_id_of_its_event() -> None:
    async with connected() as (_, connection):
        await connection.input_audio_buffer.append(audio="?", event_id="mine")
        error = (await until(connection, "error"))[-1].error
        assert (error.code, error.param, error.event_id) == ("invalid_value", "audio", "mine")


async def test_a_lost_connection_is_resumed_at_the_sample_after_the_last_one_received() -> None:
    """The call is the same, and no audio is missing or heard twice."""
    async with serving(ApiKeys(frozenset({"k1"}))) as server:
        sdk = AsyncOpenAI(api_key="k1", base_url=f"http://127.0.0.1:{server.port}/v1")
        async with sdk.realtime.connect(model="some-model", extra_query={"resume_s": "20"}) as lost:
            created = await lost.recv()
            assert created.type == "session.created"
            frames = [np.full(480, number, np.int16) for number in range(1, 6)]
            server.call.client.notify(notify.NotifyResponseStarted("resp_1", "audio"))
            server.call.client.notify(notify.NotifyResponseText("resp_1", "item_1", None, "Hello."))
            for frame in frames[:3]:
                server.call.client.play("resp_1", frame)
            last = (await until(lost, "response.output_audio.delta"))[-1]
            lost._connection.transport.abort()
            await asyncio.wait_for(server.call.until(lambda call: call.pauses == [True]), 20)
        again = {"session_id": created.session.id, "after": last.event_id}
        async with sdk.realtime.connect(model="some-model", extra_query=again) as resumed:
            for frame in frames[3:]:
                server.call.client.play("resp_1", frame)
            server.call.client.notify(
                notify.NotifyResponseEnded("resp_1", "completed", usage=Usage(10, 0, 3))
            )
            rest = [event for event in await until(resumed, "response.done") if event.type == last.type]
        heard = b"".join(base64.b64decode(event.delta) for event in (last, *rest))
        assert heard == b"".join(frame.tobytes() for frame in frames)
        assert len(server.calls) == 1


async def test_a_stored_prompt_becomes_the_instructions_of_the_session() -> None:
    settings = call_settings(prompts={"pmpt_hotel": {"1": "You are the clerk of {{hotel}}."}})
    async with connected(prepare=lambda: {"settings": settings}) as (_, connection):
        prompt: Any = {"id": "pmpt_hotel", "variables": {"hotel": "Miramar"}}
        await connection.session.update(session={"type": "realtime", "prompt": prompt})
        session = (await until(connection, "session.updated"))[-1].session
        assert session.instructions == "You are the clerk of Miramar."
        assert session.prompt.id == "pmpt_hotel"
