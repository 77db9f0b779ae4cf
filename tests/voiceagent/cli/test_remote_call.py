"""`voiceagent talk --url` with a made server."""

from __future__ import annotations

import json

import numpy as np
import pytest
from websockets.asyncio.server import ServerConnection, serve

from voiceagent.cli import remote_call as module
from voiceagent.cli.remote_call import OVERFLOW, remote_call

ANSWER: list[dict[str, object]] = [
    {"type": "input_audio_buffer.speech_started"},
    {"type": "conversation.item.input_audio_transcription.completed", "transcript": "Hello?"},
    {"type": "response.created"},
    {"type": "response.output_audio_transcript.delta", "delta": "Good evening."},
    {"type": "response.done", "response": {"status": "completed"}},
]


async def test_a_call_goes_on_after_dropped_sound_and_has_not_failed() -> None:
    dropped = {"type": "error", "error": {"code": OVERFLOW, "message": "sound is dropped"}}

    async def answer(connection: ServerConnection) -> None:
        pieces = 0
        async for message in connection:
            pieces += json.loads(message)["type"] == "input_audio_buffer.append"
            for event in {1: [dropped], 10: ANSWER}.get(pieces, []):
                await connection.send(json.dumps(event))

    async with serve(answer, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        async with remote_call(f"http://127.0.0.1:{port}", "voiceagent", "") as call:
            exchange = await call.say(np.zeros(4_800, np.int16))
    assert (exchange.notices, exchange.failures) == (["sound is dropped"], [])
    assert exchange.answered == ["Good evening."]


SPOKEN_RESULT: list[dict[str, object]] = [
    *ANSWER[:2],
    {"type": "response.created"},
    {
        "type": "conversation.item.done",
        "item": {"type": "function_call", "call_id": "1", "name": "book", "arguments": "{}"},
    },
    {"type": "response.done", "response": {"status": "completed"}},
    {"type": "response.created"},
    {
        "type": "conversation.item.done",
        "item": {"type": "function_call_output", "call_id": "1", "output": "ok"},
    },
    {"type": "response.output_audio_transcript.delta", "delta": "It is booked."},
]
DONE = {"type": "response.done", "response": {"status": "completed"}}


async def test_a_result_that_is_spoken_before_its_item_comes_is_the_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "TOOL_SPEECH_S", 0.2)

    async def answer(connection: ServerConnection) -> None:
        pieces = 0
        async for message in connection:
            pieces += json.loads(message)["type"] == "input_audio_buffer.append"
            # the response ends after the limit that the item set
            for event in {10: SPOKEN_RESULT, 40: [DONE]}.get(pieces, []):
                await connection.send(json.dumps(event))

    async with serve(answer, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        async with remote_call(f"http://127.0.0.1:{port}", "voiceagent", "") as call:
            exchange = await call.say(np.zeros(4_800, np.int16))
    assert exchange.answered == ["", "It is booked."]
