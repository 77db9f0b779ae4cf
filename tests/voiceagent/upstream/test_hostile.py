"""Backends that send what no server of their API sends: the call goes on, or ends with the apology."""

from __future__ import annotations

import asyncio
import json
import random
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest
from call_services import call_services
from fake_client import FakeClient
from fuzz_messages import mutated_text
from made_upstream import TONE, MadeUpstream, upstream_serving
from prometheus_client import CollectorRegistry
from structlog.testing import capture_logs

from voiceagent.conversation import notifications as notify
from voiceagent.engines.silent import SilentLlm, SilentRecognizer, SilentSynthesizer
from voiceagent.upstream.call import MAX_INVALID_EVENTS, UpstreamCall
from voiceagent.upstream.config import ApiName, UpstreamConfig
from voiceagent.upstream.connection import Upstream
from voiceagent.upstream.messages import read_event
from voiceagent.upstream.responses import MAX_RESPONSES, MAX_SOUND_S

PLACE = {"response_id": "resp_1", "item_id": "item_1", "output_index": 0, "content_index": 0}
CALL = {"id": "item_2", "type": "function_call", "name": "add", "call_id": "c", "arguments": "{}"}
SPOKEN = {"id": "item_3", "type": "message", "role": "user", "content": [{"type": "input_audio"}]}
BEGUN: dict[str, Any] = {"type": "response.created", "response": {"id": "resp_1", "status": "in_progress"}}
TRANSCRIPT = "conversation.item.input_audio_transcription.completed"
REALTIME: list[dict[str, Any]] = [
    BEGUN,
    {"type": "response.output_audio.delta", **PLACE, "delta": TONE[:64]},
    {"type": "response.output_audio_transcript.delta", **PLACE, "delta": "One"},
    {"type": "response.output_item.done", "response_id": "resp_1", "item": CALL},
    {"type": "response.done", "response": {"id": "resp_1", "status": "completed", "usage": {}}},
    {"type": "input_audio_buffer.speech_started", "item_id": "item_3", "audio_start_ms": 100},
    {"type": "input_audio_buffer.speech_stopped", "item_id": "item_3", "audio_end_ms": 900},
    {"type": "input_audio_buffer.committed", "item_id": "item_3", "previous_item_id": None},
    {"type": "conversation.item.added", "item": SPOKEN},
    {"type": TRANSCRIPT, "item_id": "item_3", "transcript": "Hello?"},
    {"type": "error", "error": {"type": "server_error", "code": "c", "message": "m", "event_id": None}},
]
WORDS = {"delta": "One", "start_ms": 100, "end_ms": 300}
LIVE: list[dict[str, Any]] = [
    {"type": "session.output_audio.delta", "delta": TONE[:64], "voiced": True},
    {"type": "session.output_transcript.delta", **WORDS},
    {"type": "session.input_transcript.delta", **WORDS},
    {
        "type": "response.event",
        "delegation_id": "d",
        "event": {"type": "response.output_item.done", "item": CALL},
    },
    {
        "type": "response.event",
        "delegation_id": "d",
        "event": {"type": "response.completed", "response": {"id": "r", "usage": {"input_tokens": 1}}},
    },
    {"type": "session.closed", "reason": "error", "usage": {"seconds": 1}},
    {"type": "error", "error": {"type": "t", "code": "c", "message": "m", "client_event_id": None}},
]


async def new_call(url: str = "ws://127.0.0.1:9/v1", api: ApiName = "realtime") -> UpstreamCall:
    """Return a call that has not begun."""
    table = UpstreamConfig(url=url, api=api)
    upstream = Upstream(table, {}, Path("my.toml"), CollectorRegistry())
    services = await call_services(SilentRecognizer(), SilentLlm(), SilentSynthesizer())
    return UpstreamCall("call_1", services, services.settings, FakeClient(), upstream)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[" * 100_000, "nested too deeply"),
        ("[]", "list, not an object"),
        ("null", "NoneType, not an object"),
        ('{"audio_start_ms": 1' + "0" * 400 + "}", "401 digits"),
        ('{"audio_start_ms": 1e999}', "1e999"),
        ('{"audio_start_ms": NaN}', "NaN"),
        ('{"type": ', "Expecting value"),
    ],
)
def test_text_that_is_no_event_is_refused_with_its_reason(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        read_event(text)


@pytest.mark.parametrize(("api", "valid"), [("realtime", REALTIME), ("live", LIVE)])
async def test_broken_events_in_any_order_do_not_end_the_call(
    api: ApiName, valid: list[dict[str, Any]]
) -> None:
    chance = random.Random(7)
    call = await new_call(api=api)
    skipped = 0
    for _ in range(3_000):
        try:
            event = read_event(mutated_text(json.dumps(chance.choice(valid)), chance))
        except ValueError:
            continue
        with capture_logs() as logs:
            call.upstream_sent(event)
        assert not [one for one in logs if one["log_level"] in ("error", "critical")], (event, logs)
        skipped += any(one["event"] == "upstream_event_invalid" for one in logs)
    assert skipped > 0
    call.upstream_lost()
    client = call._client
    call.upstream_given_up("the test ends")
    assert isinstance(client, FakeClient)
    await call.close("the test ends")


async def test_backend_that_sends_nothing_but_invalid_events_is_given_up_with_the_apology() -> None:
    made = MadeUpstream()
    async with upstream_serving(made):
        call = await new_call(made.url)
        call.begin()
        try:
            await made.until("session.update")
            for _ in range(MAX_INVALID_EVENTS):
                made.send("response.created")
            client = call._client
            assert isinstance(client, FakeClient)
            await client.until(lambda: client.of(notify.NotifyResponseText))
        finally:
            await call.close("the test ends")
    assert len(made.handshakes) == 1, "it is not connected again"


async def test_audio_without_end_is_bounded() -> None:
    call = await new_call()
    call.upstream_sent(BEGUN)
    minute = b64encode(bytes(2 * 24_000 * 60)).decode()
    with capture_logs() as logs:
        for _ in range(round(MAX_SOUND_S / 60) + 5):
            call.upstream_sent({"type": "response.output_audio.delta", **PLACE, "delta": minute})
            await asyncio.sleep(0)
    assert "more than 600 s of audio" in str(logs)
    response = call._conversation._responses.playing
    assert response is not None
    assert response.sound_s <= MAX_SOUND_S + 60
    await call.close("the test ends")


async def test_responses_without_end_are_bounded() -> None:
    call = await new_call()
    with capture_logs() as logs:
        for number in range(MAX_RESPONSES + 1):
            call.upstream_sent({"type": "response.created", "response": {"id": f"resp_{number}"}})
    assert f"{MAX_RESPONSES} responses are in progress" in str(logs)
    await call.close("the test ends")


async def test_function_calls_of_responses_that_never_end_are_bounded() -> None:
    call = await new_call(api="live")
    with capture_logs() as logs:
        for number in range(200):
            nested = {"type": "response.output_item.done", "item": CALL}
            call.upstream_sent({"type": "response.event", "delegation_id": f"d{number}", "event": nested})
    assert "128 function calls" in str(logs)
    await call.close("the test ends")
