"""Backends that send what no server of their API sends: the call goes on, or ends with the apology."""

from __future__ import annotations

import asyncio
import json
import random
from base64 import b64encode
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from call_services import call_services
from fake_client import FakeClient
from fuzz_messages import mutated_text
from kept_events import KeptEvents
from made_live import MadeLive
from made_upstream import TONE, MadeUpstream, upstream_serving
from prometheus_client import CollectorRegistry
from structlog.testing import capture_logs

from voiceagent.calls.log.event_log import read_log
from voiceagent.calls.replaying.replay import replay
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.history import History
from voiceagent.engines.silent import SilentLlm, SilentRecognizer, SilentSynthesizer
from voiceagent.session.publishing import NO_SUBSCRIPTIONS, Subscriptions
from voiceagent.upstream.api import RealtimeApi
from voiceagent.upstream.call import MAX_INVALID_EVENTS, UpstreamCall
from voiceagent.upstream.config import ApiName, UpstreamConfig
from voiceagent.upstream.connection import Upstream
from voiceagent.upstream.messages import read_event
from voiceagent.upstream.replaying import replay_handler
from voiceagent.upstream.responses import MAX_RESPONSES, MAX_SOUND_S, Responses

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


async def new_call(
    url: str = "ws://127.0.0.1:9/v1",
    api: ApiName = "realtime",
    subscriptions: Subscriptions = NO_SUBSCRIPTIONS,
) -> UpstreamCall:
    """Return a call that has not begun."""
    table = UpstreamConfig(url=url, api=api)
    upstream = Upstream(table, {}, Path("my.toml"), CollectorRegistry())
    services = await call_services(SilentRecognizer(), SilentLlm(), SilentSynthesizer())
    return UpstreamCall("call_1", services, services.settings, FakeClient(), upstream, subscriptions)


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


def test_response_without_end_is_bounded_however_slowly_it_is_sent() -> None:
    responses = Responses(History())
    responses.begin(BEGUN["response"])
    minute = np.zeros(24_000 * 60, np.int16)
    with pytest.raises(ValueError, match="more than 600 s of audio"):
        for _ in range(round(MAX_SOUND_S / 60) + 5):
            responses.play("resp_1", minute)
    assert responses.sound_s <= MAX_SOUND_S + 60


async def test_audio_without_end_is_dropped_at_its_bound() -> None:
    call = await new_call()
    call.upstream_sent(BEGUN)
    minute = b64encode(bytes(2 * 24_000 * 60)).decode()
    for _ in range(round(MAX_SOUND_S / 60) + 5):
        call.upstream_sent({"type": "response.output_audio.delta", **PLACE, "delta": minute})
        await asyncio.sleep(0)
        assert call._conversation._responses.sound_s <= RealtimeApi.max_ahead_s + 60
    assert not call._conversation._responses
    await call.close("the test ends")


TWO_SECONDS = b64encode(np.full(2 * 24_000, 9_000, "<i2").tobytes()).decode()


@pytest.mark.parametrize(("api", "allowed_s"), [("realtime", 300), ("live", 60)])
async def test_backend_that_floods_audio_is_cut_off_and_is_not_heard_any_longer(
    api: ApiName, allowed_s: int
) -> None:
    made, kept = MadeUpstream() if api == "realtime" else MadeLive(), KeptEvents()
    with capture_logs() as logs:
        async with upstream_serving(made):
            call = await new_call(made.url, api, Subscriptions((kept,)))
            client = call._client
            assert isinstance(client, FakeClient)
            call.begin()
            try:
                await made.until_ready()
                if api == "realtime":
                    made.send("response.created", response=BEGUN["response"])
                kind = "response.output_audio.delta" if api == "realtime" else "session.output_audio.delta"
                for _ in range(allowed_s // 2 + 10):
                    made.send(kind, **(PLACE if api == "realtime" else {}), delta=TWO_SECONDS)
                await client.until(lambda: len(client.of(notify.NotifyResponseEnded)) == 2)
                ended = client.of(notify.NotifyResponseEnded)
                assert [one.status for one in ended] == ["cancelled", "completed"], "cut, then the apology"
            finally:
                await call.close("the test ends")
    assert client.cleared == 1
    assert f"allowed: {allowed_s} s" in str([one for one in logs if one["event"] == "upstream_abandoned"])
    assert len(made.handshakes) == 1, "it is not connected again"
    assert replay(read_log(kept.lines(call._services)), begin=replay_handler) is None


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
