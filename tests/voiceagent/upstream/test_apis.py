"""Calls behave alike with a core that speaks the Realtime API and one that speaks the Live API."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from http import HTTPStatus
from pathlib import Path

import numpy as np
import pytest
from call_services import call_services
from fake_client import FakeClient
from kept_events import KeptEvents
from made_live import MadeLive
from made_upstream import MadeUpstream, upstream_serving
from prometheus_client import CollectorRegistry
from upstream_call import Shop

from audio.pcm import AudioFormat
from voiceagent.agents.running import RunningAgent
from voiceagent.calls.log.event_log import CallLog, read_log
from voiceagent.calls.replaying.replay import replay
from voiceagent.conversation import events as ev
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.history import MessageItem, ToolOutputItem
from voiceagent.engines.silent import SilentLlm, SilentRecognizer, SilentSynthesizer
from voiceagent.session.publishing import Subscriptions
from voiceagent.session.services import Services
from voiceagent.upstream.call import UpstreamCall
from voiceagent.upstream.config import ApiName, UpstreamConfig
from voiceagent.upstream.connection import Upstream
from voiceagent.upstream.replaying import replay_handler, transcript_of

Made = MadeUpstream | MadeLive


class OneCall:
    """A call to a made backend."""

    def __init__(self, call: UpstreamCall, client: FakeClient, kept: KeptEvents, services: Services) -> None:
        self.call, self.client, self._kept, self._services = call, client, kept, services

    @property
    def log(self) -> CallLog:
        return read_log(self._kept.lines(self._services))

    @property
    def texts(self) -> list[tuple[str, str]]:
        return [(item.role, item.text) for item in self.call.items if isinstance(item, MessageItem)]

    async def until_quiet(self) -> None:
        """Wait until all is said and played; there is no notification of that."""
        async with asyncio.timeout(20):
            while not self.call.quiet:  # noqa: ASYNC110
                await asyncio.sleep(0.01)


@asynccontextmanager
async def calling(made: Made, **options: object) -> AsyncIterator[OneCall]:
    """A call of the shop. options: of the upstream's table."""
    api: ApiName = "live" if isinstance(made, MadeLive) else "realtime"
    async with upstream_serving(made):
        table = UpstreamConfig(url=made.url, api=api, **options)  # type: ignore[arg-type]
        upstream = Upstream(table, {}, Path("my.toml"), CollectorRegistry())
        services = await call_services(SilentRecognizer(), SilentLlm(), SilentSynthesizer())
        client, kept = FakeClient(), KeptEvents()
        settings = replace(services.settings, voice=table.voice)
        running = RunningAgent("call_1", Shop)
        call = UpstreamCall("call_1", services, settings, client, upstream, Subscriptions((kept,)), running)
        call.begin()
        try:
            yield OneCall(call, client, kept, replace(services, settings=settings))
        finally:
            await call.close("the caller hung up")
    if isinstance(made, MadeLive) and not made.start_error:
        assert made.faults == [], "a strict server refuses nothing"


@pytest.fixture(params=[MadeUpstream, MadeLive])
def made(request: pytest.FixtureRequest) -> Made:
    return request.param()  # type: ignore[no-any-return]


async def test_backend_gets_instructions_tools_and_voice(made: Made) -> None:
    async with calling(made, voice="cedar"):
        assert await made.until_ready() == {
            "instructions": "You sell pizza.",
            "tools": ["add", "end"],
            "voice": "cedar",
        }


async def test_both_sides_are_in_the_history_and_the_agents_audio_is_played(made: Made) -> None:
    async with calling(made) as one:
        await made.until_ready()
        made.hears("A tuna, please.")
        made.say("One tuna.")
        await one.client.until(lambda: one.client.of(notify.NotifyResponseEnded))
        await one.client.until(lambda: any(told.final for told in one.client.of(notify.NotifyTranscript)))
        await one.until_quiet()
        assert one.texts == [("user", "A tuna, please."), ("assistant", "One tuna.")]
        voiced = [frame for _, frame in one.client.frames if np.abs(frame).max() > 1_000]
        assert sum(len(frame) for frame in voiced) == 2 * 4_800
        [ended] = one.client.of(notify.NotifyResponseEnded)
        assert ended.status == "completed"


async def test_phone_lines_audio_is_converted_both_ways(made: Made) -> None:
    async with calling(made) as one:
        await made.until_ready()
        phone = replace(one.call.settings, input_format=AudioFormat.PCMU, output_format=AudioFormat.PCMU)
        one.call.handle(ev.SettingsChanged(phone))
        one.call.hear(np.full(800, 1_000, np.int16))
        kind = "session.input_audio.append" if isinstance(made, MadeLive) else "input_audio_buffer.append"
        appended = await made.until(kind)
        made.say("Hello.")
        await one.client.until(lambda: one.client.of(notify.NotifyResponseEnded))
        assert len(appended["audio"]) == pytest.approx(800 * 3 * 2 * 4 / 3, rel=0.05)
        voiced = [frame for _, frame in one.client.frames if np.abs(frame).max() > 1_000]
        assert sum(len(frame) for frame in voiced) == pytest.approx(2 * 1_600, abs=200)


async def test_tool_runs_here_and_its_result_is_spoken_of(made: Made) -> None:
    async with calling(made) as one:
        await made.until_ready()
        made.call("add", '{"pizza": "tuna"}')
        result = await made.until_result()
        assert (result["type"], result["output"]) == ("function_call_output", "tuna added")
        assert await made.until_asked() == "response.create"
        made.say("It is added.")
        await one.client.until(lambda: one.client.of(notify.NotifyResponseText))
        await one.until_quiet()
        [output] = [item for item in one.call.items if isinstance(item, ToolOutputItem)]
        assert output.output == "tuna added"


async def test_agent_hangs_up_once_its_goodbye_was_played(made: Made) -> None:
    async with calling(made) as one:
        await made.until_ready()
        made.say("Goodbye.")
        made.call("end", "{}")
        async with asyncio.timeout(20):
            await one.call.ended()
        voiced = [frame for _, frame in one.client.frames if np.abs(frame).max() > 1_000]
        assert sum(len(frame) for frame in voiced) == 2 * 4_800


async def test_next_connection_knows_what_was_said(made: Made) -> None:
    async with calling(made) as one:
        await made.until_ready()
        made.hears("My name is Ada.")
        made.say("Hello Ada.")
        await one.client.until(lambda: any(told.final for told in one.client.of(notify.NotifyTranscript)))
        await one.client.until(lambda: one.client.of(notify.NotifyResponseEnded))
        await one.until_quiet()
        made.lose()
        async with asyncio.timeout(20):
            while len(made.received) < 2 or len(made.history_of(1)) < 2:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        assert made.history_of(1) == [("user", "My name is Ada."), ("assistant", "Hello Ada.")]


async def test_error_is_reported_and_the_call_continues(made: Made) -> None:
    async with calling(made) as one:
        await made.until_ready()
        made.fail("rate_limit_exceeded", "Slow down")
        made.say("Hello.")
        await one.client.until(lambda: one.client.of(notify.NotifyResponseEnded))
        assert [told.code for told in one.client.of(notify.NotifyError)] == ["rate_limit_exceeded"]


async def test_refused_handshake_is_an_apology_and_the_end(made: Made) -> None:
    made.refusals = [(HTTPStatus.UNAUTHORIZED, "Incorrect API key provided")] * 3
    async with calling(made) as one:
        async with asyncio.timeout(20):
            await one.call.ended()
        assert one.client.frames, "the apology was heard"
    assert len(made.handshakes) == 1, "a key that is refused is refused again"


async def test_audio_before_the_connection_is_kept(made: Made) -> None:
    made.refusals = [(HTTPStatus.TOO_MANY_REQUESTS, "Rate limit reached")]
    async with calling(made) as one:
        one.call.hear(np.zeros(480, np.int16))
        kind = "session.input_audio.append" if isinstance(made, MadeLive) else "input_audio_buffer.append"
        assert (await made.until(kind))["audio"]
        assert len(made.received[0]) == 2, "the settings, then the audio"


async def test_log_alone_reproduces_the_call(made: Made) -> None:
    async with calling(made) as one:
        await made.until_ready()
        made.hears("A tuna, please.")
        made.call("add", '{"pizza": "tuna"}')
        await made.until_asked()
        made.say("One two three four five six seven eight.", pieces=10)
        await one.client.until(lambda: len(one.client.of(notify.NotifyResponseEnded)) == 2)
        made.say("Something that is cut by the end of the call.", pieces=20, done=False)
        await one.client.until(lambda: len(one.client.frames) > 170)
    log = one.log
    assert replay(log, begin=replay_handler) is None
    texts = [item.text for item in transcript_of(log) if isinstance(item, MessageItem)]
    assert texts[:2] == ["A tuna, please.", "One two three four five six seven eight."]
