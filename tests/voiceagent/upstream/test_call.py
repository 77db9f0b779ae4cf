"""Calls whose core is an upstream: a made one for what OpenAI's does and for what goes wrong."""

from __future__ import annotations

import asyncio
import time
from base64 import b64decode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from http import HTTPStatus
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from call_services import call_services
from fake_client import FakeClient
from made_upstream import MadeUpstream, upstream_serving
from prometheus_client import CollectorRegistry
from structlog.testing import capture_logs
from upstream_call import Shop

from audio.pcm import AudioFormat
from voiceagent.agents import Agent
from voiceagent.agents.running import RunningAgent
from voiceagent.calls.kept_call import KeptCall, Losses
from voiceagent.calls.log.entries import HeardText, Record
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.client_requests import (
    InputCommitted,
    ItemDeleted,
    ResponseRequested,
    SettingsChanged,
)
from voiceagent.conversation.events import CallerGone
from voiceagent.conversation.history import MessageItem, ToolOutputItem
from voiceagent.conversation.latency import TurnReport
from voiceagent.engines.silent import SilentLlm, SilentRecognizer, SilentSynthesizer
from voiceagent.server.call_progress import CallOver, CallProgress, ProgressReporter
from voiceagent.session.call import InputOverflow
from voiceagent.session.publishing import NO_SUBSCRIPTIONS, Subscriptions
from voiceagent.telemetry.metrics import Metrics
from voiceagent.upstream.call import UpstreamCall
from voiceagent.upstream.config import UpstreamConfig
from voiceagent.upstream.connection import Upstream
from voiceagent.validation.errors import ConfigError

KEY = "sk-of-the-test"
APOLOGY = "Sorry"


@asynccontextmanager
async def calling(
    made: MadeUpstream,
    monkeypatch: pytest.MonkeyPatch,
    agent: type[Agent] | None = None,
    subscriptions: Subscriptions = NO_SUBSCRIPTIONS,
    **options: Any,
) -> AsyncIterator[tuple[UpstreamCall, FakeClient, CollectorRegistry]]:
    """A call to the upstream; options: of its table."""
    monkeypatch.setenv("UPSTREAM_KEY", KEY)
    registry = CollectorRegistry()
    async with upstream_serving(made):
        table = UpstreamConfig(url=made.url, api_key_env="UPSTREAM_KEY", **options)
        upstream = Upstream(table, {"UPSTREAM_KEY": KEY}, Path("my.toml"), registry)
        services = await call_services(SilentRecognizer(), SilentLlm(), SilentSynthesizer())
        client = FakeClient()
        running = None if agent is None else RunningAgent("call_1", agent)
        settings = replace(services.settings, voice=table.voice)
        call = UpstreamCall("call_1", services, settings, client, upstream, subscriptions, running)
        call.begin()
        try:
            yield call, client, registry
        finally:
            await call.close("the caller hung up")


async def until_quiet(call: UpstreamCall) -> None:
    """Wait until everything said has been played; there is no notification of that."""
    async with asyncio.timeout(20):
        while not call.quiet:  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def until_told(call: UpstreamCall) -> None:
    """Wait until the upstream has reported the usage of each response, long before it was played."""
    async with asyncio.timeout(20):
        while not all(usage.prompt_tokens for usage in call._conversation.usages.values()):  # noqa: ASYNC110
            await asyncio.sleep(0.01)


def texts(call: UpstreamCall) -> list[tuple[str, str]]:
    return [(item.role, item.text) for item in call.items if isinstance(item, MessageItem)]


async def test_a_turn_that_a_client_ends_before_the_upstream_is_there_is_heard_and_answered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = MadeUpstream()
    async with calling(made, monkeypatch) as (call, _, _):
        for request in (InputCommitted(), ResponseRequested()):
            call.hear(np.zeros(480, np.int16))
            call.handle(request)
        await made.until("response.create")
    kinds = [event["type"].partition(".")[2] for event in made.received[0]]
    assert kinds == ["update", "append", "commit", "append", "create"], "in the order in which it came"


async def test_the_upstream_is_told_agent_tools_and_formats(monkeypatch: pytest.MonkeyPatch) -> None:
    made = MadeUpstream()
    async with calling(made, monkeypatch, Shop, model="gpt-realtime", voice="cedar"):
        session = (await made.until("session.update"))["session"]
    assert made.handshakes == [("/v1/realtime?model=gpt-realtime", f"Bearer {KEY}")]
    assert session["instructions"] == "You sell pizza."
    assert [tool["name"] for tool in session["tools"]] == ["add", "end"]
    assert session["audio"]["output"] == {"format": {"type": "audio/pcm", "rate": 24_000}, "voice": "cedar"}
    assert session["audio"]["input"]["transcription"] == {"model": "gpt-4o-mini-transcribe"}
    assert session["audio"]["input"]["turn_detection"]["interrupt_response"]


async def test_what_was_said_is_heard_told_and_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    made = MadeUpstream()
    async with calling(made, monkeypatch, Shop) as (call, client, _):
        await made.until("session.update")
        made.hears("A tuna, please.")
        made.say("One tuna.")
        await client.until(lambda: client.of(notify.NotifyResponseEnded))
        await until_quiet(call)
        [ended] = client.of(notify.NotifyResponseEnded)
        assert (ended.status, ended.usage.prompt_tokens, ended.usage.cached_tokens) == ("completed", 30, 10)
        assert [one.text for one in client.of(notify.NotifyTranscript)] == ["A tuna, please."]
        assert texts(call) == [("user", "A tuna, please."), ("assistant", "One tuna.")]
    assert sum(len(frame) for _, frame in client.frames) == 2 * 4_800


async def test_a_phone_lines_sound_is_converted_both_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    made = MadeUpstream()
    async with calling(made, monkeypatch) as (call, client, _):
        await made.until("session.update")
        phone = replace(call.settings, input_format=AudioFormat.PCMU, output_format=AudioFormat.PCMU)
        call.handle(SettingsChanged(phone))
        call.hear(np.full(800, 1_000, np.int16))
        appended = await made.until("input_audio_buffer.append")
        made.say("Hello.")
        await client.until(lambda: client.of(notify.NotifyResponseEnded))
    assert len(appended["audio"]) == pytest.approx(800 * 3 * 2 * 4 / 3, rel=0.05)
    assert sum(len(frame) for _, frame in client.frames) == pytest.approx(2 * 1_600, abs=10)


async def test_what_the_caller_cut_short_is_truncated_at_the_upstream(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = MadeUpstream()
    async with calling(made, monkeypatch, Shop) as (call, client, _):
        await made.until("session.update")
        item_id = made.say("one two three four five six seven eight nine ten", pieces=50)
        await client.until(lambda: len(client.frames) > 20)
        await until_told(call)
        made.send("input_audio_buffer.speech_started", item_id="item_cut", audio_start_ms=900)
        truncated = await made.until("conversation.item.truncate")
        await client.until(lambda: client.of(notify.NotifyResponseEnded))
        assert (truncated["item_id"], truncated["content_index"]) == (item_id, 0)
        assert 0 < truncated["audio_end_ms"] <= 1_000 * sum(len(frame) for _, frame in client.frames) / 24_000
        assert client.cleared == 1
        [ended] = client.of(notify.NotifyResponseEnded)
        assert (ended.status, ended.usage.prompt_tokens) == ("cancelled", 30)
        [(_, heard)] = texts(call)
        assert "one two three four five six seven eight nine ten".startswith(heard)
        assert len(heard) < 30


@pytest.mark.parametrize("hangs_up", [False, True])
async def test_what_was_heard_of_an_item_that_is_deleted_while_it_plays_is_kept(
    monkeypatch: pytest.MonkeyPatch, hangs_up: bool
) -> None:
    made, kept = MadeUpstream(), KeptCall(time.monotonic, Losses())
    async with calling(made, monkeypatch, subscriptions=Subscriptions((kept,), kept)) as (call, client, _):
        await made.until("session.update")
        first = made.say("One tuna.")
        await client.until(lambda: client.of(notify.NotifyResponseEnded))
        await until_quiet(call)
        before = len(client.frames)
        second = made.say("one two three four five six seven eight nine ten", pieces=20)
        await client.until(lambda: len(client.frames) > before + 40)
        await until_told(call)
        call.handle(ItemDeleted(second))
        if not hangs_up:
            await until_quiet(call)
    heard = {entry.item_id: entry.text for entry in kept.waiting if isinstance(entry, HeardText)}
    assert heard[first] == "One tuna."
    assert heard[second].startswith("one" if hangs_up else "one two three four five six seven eight nine ten")


async def test_the_answer_that_the_caller_hangs_up_in_is_kept_with_its_wait(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made, kept = MadeUpstream(), KeptCall(time.monotonic, Losses())
    async with calling(made, monkeypatch, Shop, subscriptions=Subscriptions((kept,), kept)) as (
        call,
        client,
        _,
    ):
        await made.until("session.update")
        made.hears("A tuna, please.")
        made.say("one two three four five six seven eight nine ten", pieces=50)
        await client.until(lambda: client.frames)
        await until_told(call)
        await call.close("the caller hung up")
    [report] = [told for told in kept.waiting if isinstance(told, TurnReport)]
    assert (report.outcome, report.stages[0].name) == ("hung_up", "endpointing")
    assert (report.counts.prompt_tokens, report.counts.cached_tokens) == (30, 10)
    gone = [told for told in kept.waiting if isinstance(told, Record)][-1]
    assert isinstance(gone.event, CallerGone)
    assert (gone.event.response_id, list(gone.commands)) == (report.response_id, [])


async def test_where_a_call_stands_is_told_though_nobody_keeps_or_traces_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made, told = MadeUpstream(), list[CallProgress | CallOver]()
    reporter = ProgressReporter("call_1", told.append, None)
    async with calling(made, monkeypatch, Shop, subscriptions=Subscriptions((reporter,))) as (_, client, _):
        await made.until("session.update")
        made.hears("A tuna, please.")
        made.say("One tuna.")
        await client.until(lambda: client.frames)
    stands = [(one.turn, one.doing) for one in told if isinstance(one, CallProgress)]
    assert (1, "the agent speaks") in stands[stands.index((1, "the answer is made")) :]


async def test_an_answer_that_made_no_sound_before_the_caller_hung_up_is_counted_but_not_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made, kept = MadeUpstream(), KeptCall(time.monotonic, Losses())
    with capture_logs() as entries:
        async with calling(made, monkeypatch, Shop, subscriptions=Subscriptions((kept,), kept)) as (
            call,
            client,
            _,
        ):
            await made.until("session.update")
            made.send("response.created", response={"id": "resp_silent"})
            await client.until(lambda: client.of(notify.NotifyResponseStarted))
            await call.close("the caller hung up")
    assert [entry["outcome"] for entry in entries if entry["event"] == "turn"] == ["hung_up_unheard"]
    assert not [told for told in kept.waiting if isinstance(told, TurnReport)]


async def test_a_tool_runs_here_and_its_result_is_spoken_of(monkeypatch: pytest.MonkeyPatch) -> None:
    def answers(upstream: MadeUpstream, event: dict[str, Any]) -> None:
        if event["type"] == "response.create":
            upstream.say("It is added.")

    made = MadeUpstream(answers)
    async with calling(made, monkeypatch, Shop) as (call, client, _):
        await made.until("session.update")
        made.call("add", '{"pizza": "tuna"}')
        created = await made.until("conversation.item.create")
        await client.until(lambda: client.of(notify.NotifyResponseText))
        await until_quiet(call)
        [output] = [item for item in call.items if isinstance(item, ToolOutputItem)]
    assert created["item"]["type"] == "function_call_output"
    assert created["item"]["output"] == output.output == "tuna added"
    assert len(made.of("response.create")) == 1


async def test_a_function_of_the_client_is_left_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    made = MadeUpstream()
    async with calling(made, monkeypatch) as (_, client, _):
        await made.until("session.update")
        made.call("weather", "{}")
        await client.until(lambda: client.of(notify.NotifyToolCall))
        assert client.of(notify.NotifyToolCall)[0].call.name == "weather"


async def test_the_agent_hangs_up_when_its_goodbye_was_played(monkeypatch: pytest.MonkeyPatch) -> None:
    made = MadeUpstream()
    async with calling(made, monkeypatch, Shop) as (call, client, _):
        await made.until("session.update")
        made.say("Goodbye.")
        made.call("end", "{}")
        async with asyncio.timeout(20):
            await call.ended()
        assert len(client.frames) == 20


async def test_after_a_lost_connection_the_next_one_knows_what_was_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = MadeUpstream()
    async with calling(made, monkeypatch) as (call, client, registry):
        await made.until("session.update")
        made.hears("My name is Ada.")
        made.say("Hello Ada.")
        await client.until(lambda: client.of(notify.NotifyResponseEnded))
        await until_quiet(call)
        made.lose()
        await made.until("conversation.item.create", 2)
        again = [(event["item"]["role"], event["item"]["content"][0]) for event in made.received[1][1:]]
        assert made.received[1][0]["type"] == "session.update"
    assert again == [
        ("user", {"type": "input_text", "text": "My name is Ada."}),
        ("assistant", {"type": "output_text", "text": "Hello Ada."}),
    ]
    assert registry.get_sample_value("voiceagent_upstream_connections_total", {"outcome": "lost"}) == 1


async def test_a_refused_key_is_an_apology_and_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    made = MadeUpstream(refusals=[(HTTPStatus.UNAUTHORIZED, f"Incorrect API key provided: {KEY}")] * 3)
    with capture_logs() as entries:
        async with calling(made, monkeypatch) as (call, client, registry):
            async with asyncio.timeout(20):
                await call.ended()
            assert client.frames, "the apology was heard"
    assert len(made.handshakes) == 1, "a key that is refused is refused again"
    assert registry.get_sample_value("voiceagent_upstream_connections_total", {"outcome": "refused"}) == 1
    logged = str(entries)
    assert "Incorrect API key provided" in logged
    assert KEY not in logged


async def test_a_busy_upstream_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    made = MadeUpstream(refusals=[(HTTPStatus.TOO_MANY_REQUESTS, "Rate limit reached")])
    async with calling(made, monkeypatch) as (call, client, _):
        call.hear(np.zeros(480, np.int16))
        await made.until("input_audio_buffer.append")
        assert [event["type"] for event in made.received[0]] == [
            "session.update",
            "input_audio_buffer.append",
        ]
        made.say("Hello.")
        await client.until(lambda: client.of(notify.NotifyResponseEnded))


async def test_while_the_upstream_hears_a_voice_it_is_sent_silence_for_a_line_that_sends_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = MadeUpstream()
    async with calling(made, monkeypatch) as (call, client, _):
        call.hear(np.full(480, 1_000, np.int16))
        await made.until("input_audio_buffer.append")
        made.send("input_audio_buffer.speech_started", item_id="item_muted", audio_start_ms=0)
        assert (await made.until("input_audio_buffer.append", 5))["audio"]
        made.send("input_audio_buffer.speech_stopped", item_id="item_muted", audio_end_ms=100)
        await client.until(lambda: client.of(notify.NotifySpeechStopped))
        sent = len(made.of("input_audio_buffer.append"))
        await asyncio.sleep(0.3)
        assert len(made.of("input_audio_buffer.append")) <= sent + 1, "no more once it is over"


async def test_one_that_stays_away_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    made = MadeUpstream(refusals=[(HTTPStatus.SERVICE_UNAVAILABLE, "overloaded")] * 9)
    monkeypatch.setattr(UpstreamConfig, "retries", 1)
    async with calling(made, monkeypatch) as (call, _, _):
        async with asyncio.timeout(20):
            await call.ended()
    assert len(made.handshakes) == 2


async def test_an_error_in_the_call_is_told_and_the_call_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    made = MadeUpstream()
    async with calling(made, monkeypatch) as (_, client, _):
        await made.until("session.update")
        error = {
            "type": "rate_limit_error",
            "code": "rate_limit_exceeded",
            "message": "Slow down",
            "param": None,
        }
        made.send("error", error=error)
        made.send("response.created", response={"no": "id"})
        made.say("Hello.")
        await client.until(lambda: client.of(notify.NotifyResponseEnded))
        assert [told.code for told in client.of(notify.NotifyError)] == ["rate_limit_exceeded"]


async def test_one_that_hangs_is_lost_and_called_again(monkeypatch: pytest.MonkeyPatch) -> None:
    made = MadeUpstream()
    monkeypatch.setattr(UpstreamConfig, "connect_timeout_s", 0.5)
    async with calling(made, monkeypatch) as (_, _, registry):
        await made.until("session.update")
        with capture_logs() as logged:
            made.hang()
            await made.until("session.update", 2)
        made.wake()
    reasons = [entry["reason"] for entry in logged if entry["event"] == "upstream_lost"]
    assert reasons == ["it answered no ping within 0.5 s"]
    assert registry.get_sample_value("voiceagent_upstream_connections_total", {"outcome": "lost"}) == 1


async def test_while_there_is_none_the_newest_sound_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    made = MadeUpstream(refusals=[(HTTPStatus.SERVICE_UNAVAILABLE, "overloaded")])
    async with calling(made, monkeypatch) as (call, _, _):
        for second in range(30):
            call.hear(np.full(24_000, second, np.int16))
        await made.until("input_audio_buffer.append", 10)
        sounds = [
            np.frombuffer(b64decode(event["audio"]), np.int16)
            for event in made.of("input_audio_buffer.append")
        ]
    assert [int(sound[0]) for sound in sounds] == list(range(20, 30))


async def test_sound_that_nobody_takes_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    made = MadeUpstream()
    async with calling(made, monkeypatch) as (call, _, _):
        await made.until("session.update")
        call.hear(np.zeros(11 * 24_000, np.int16))
        with pytest.raises(InputOverflow):
            call.hear(np.zeros(480, np.int16))


def test_a_key_that_is_not_there_is_told_at_the_start() -> None:
    table = UpstreamConfig(url="wss://api.example/v1", api_key_env="NOT_SET")
    with pytest.raises(ConfigError, match=r"upstream\.api_key_env = 'NOT_SET': this environment variable"):
        Upstream(table, {}, Path("my.toml"), Metrics().registry)
