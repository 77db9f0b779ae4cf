"""Whole calls over every phone line: greeting, interruption, keys, goodbye; the history is what was heard."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager

import numpy as np
import phone_lines
import pytest
import uvicorn
from phone_caller import FRAME_S, PhoneCaller, calling
from phone_lines import AudioSocket, Provider
from phone_server import config_of, routes_of
from recordings import recorded
from starlette.applications import Starlette
from structlog.testing import capture_logs

from audio.pcm import Samples
from audio.recognizers import Flush, Hypothesis
from audio.synthesizers import Speech
from llmcore.engine import Delta, Request, ToolCall, Usage
from llmcore.policies.load_shedding import LoadShedder
from voiceagent.conversation.config import AgentConfig
from voiceagent.engines.engines import Engines
from voiceagent.server.startup import compose
from voiceagent.session.session import Session
from voiceagent.telemetry.metrics import Metrics
from voiceagent.transports.telephony.audiosocket import audiosocket
from voiceagent.transports.telephony.stream.keypad import entry_text
from voiceagent.transports.uvicorn_internals import FastPath

WORDS = "alfa beta zeta iota mica nova opal puma rosa silk tuba vela wolf yoga zinc army bird cake deer"
WORD_S = 0.5
PROVIDERS = [
    phone_lines.Twilio,
    phone_lines.Telnyx,
    phone_lines.Plivo,
    phone_lines.Vonage,
    phone_lines.Asterisk,
    AudioSocket,
]


class Engine:
    async def start(self) -> None: ...

    async def close(self) -> None: ...


class Ears(Engine):
    """Understands that the agent is to stop."""

    async def recognize(self, sound: AsyncIterator[Samples | Flush]) -> AsyncGenerator[Hypothesis, None]:
        async for item in sound:
            if isinstance(item, Flush):
                yield Hypothesis("please stop talking now", settled=True)


class Brain(Engine):
    """Says "Okay.", and goodbye when a key was pressed."""

    def __init__(self) -> None:
        self.requests: list[Request] = []

    async def generate(self, request: Request) -> AsyncGenerator[Delta, None]:
        self.requests.append(request)
        if "pressed" in request.messages[-1].content:
            yield Delta("Goodbye.")
            yield Delta(tool_calls=(ToolCall("call_1", "hang_up", "{}"),))
            yield Delta(finish_reason="tool_calls", usage=Usage())
        else:
            yield Delta("Okay.")
            yield Delta(finish_reason="stop", usage=Usage())

    async def prefill(self, request: Request) -> None: ...


class Mouth(Engine):
    """Speaks each word for half a second."""

    rate_hz = 24_000

    async def speak(self, text: str) -> AsyncGenerator[Speech, None]:
        yield Speech(np.full(round(len(text.split()) * WORD_S * self.rate_hz), 1_000, np.int16))


@asynccontextmanager
async def phone_agent(brain: Brain) -> AsyncIterator[dict[str, str]]:
    """A server of all lines; gives their addresses by provider."""
    names = ("twilio", "telnyx", "plivo", "vonage", "asterisk")
    config = config_of({**{name: {} for name in names}, "audiosocket": {"port": 0}})
    agent = AgentConfig(greeting=WORDS, instructions="You are kind.", filler="", apology="Sorry.")
    config = config.model_copy(update={"agent": agent})
    services = await compose(config, Engines(Ears(), brain, Mouth()), Metrics(), LoadShedder())

    def open_call(call_id, client, model):
        return Session(call_id, services, services.settings, client)

    app = Starlette(routes=routes_of(config, open_call))
    server = uvicorn.Server(
        uvicorn.Config(
            app, port=0, ws=FastPath, ws_per_message_deflate=False, lifespan="off", log_level="warning"
        )
    )
    async with audiosocket(config.telephony.audiosocket, config.telephony.tools, open_call) as port:
        serving = asyncio.create_task(server.serve())
        while not server.started:  # noqa: ASYNC110  uvicorn has no event for it
            await asyncio.sleep(0.005)
        http_port = server.servers[0].sockets[0].getsockname()[1]
        addresses = {name: f"ws://127.0.0.1:{http_port}/telephony/{name}?room=12" for name in names}
        yield {**addresses, "audiosocket": str(port)}
        server.should_exit = True
        await serving


def line_of(provider: type[Provider]) -> str:
    return provider.__name__.lower()


async def interrupt(caller: PhoneCaller) -> None:
    """Speak over the agent when it has been heard for a while, then be silent."""
    await caller.until(lambda: caller.playing_s > 1.5)
    rate_hz = caller.provider.format.rate_hz
    await caller.speak(np.concatenate([recorded("something.wav", rate_hz), np.zeros(rate_hz, np.int16)]))


@pytest.mark.parametrize("kind", PROVIDERS, ids=line_of)
async def test_a_call_with_an_interruption_keys_and_a_goodbye(kind: type[Provider]) -> None:
    brain, provider = Brain(), kind()
    async with phone_agent(brain) as addresses, calling(provider, addresses[line_of(kind)]) as caller:
        await interrupt(caller)
        await caller.until(lambda: brain.requests)
        assert caller.cleared == int(provider.drops_sound)
        caller.press("1#")
        await caller.until(lambda: caller.hung_up)
    said = brain.requests[-1].messages
    assert said[-1].content.endswith(entry_text("1#"))
    assert [tool.name for tool in brain.requests[-1].tools] == ["hang_up"]
    if not isinstance(provider, AudioSocket):
        assert ['"room": "12"' in message.content for message in said[:2]] == [False, True]


@pytest.mark.parametrize("kind", PROVIDERS, ids=line_of)
async def test_a_caller_at_ten_times_real_time_is_cut_off(
    kind: type[Provider],
) -> None:
    brain = Brain()
    async with phone_agent(brain) as addresses:
        address = addresses[line_of(kind)]
        async with calling(kind(), address) as other, calling(kind(), address) as flooding:
            with capture_logs() as logged:
                await asyncio.gather(interrupt(other), flood(flooding))
                await other.until(lambda: brain.requests)
            assert not other.hung_up
    reasons = [entry["reason"] for entry in logged if entry["event"] == "call_ended"]
    assert len(reasons) == 1
    assert "ahead of real time" in reasons[0]


async def flood(caller: PhoneCaller) -> None:
    """Send silence at ten times real time until the server has had enough."""
    samples = np.zeros(round(FRAME_S * caller.provider.format.rate_hz), np.int16)
    number = 0
    while not caller.hung_up:
        for _ in range(10):
            number += 1
            caller.send(caller.provider.sound(samples, number))
        await asyncio.sleep(FRAME_S)


@pytest.mark.parametrize("kind", [one for one in PROVIDERS if one.returns_marks], ids=line_of)
async def test_the_history_follows_the_marks_of_a_line_that_plays_late(kind: type[Provider]) -> None:
    brain = Brain()
    async with (
        phone_agent(brain) as addresses,
        calling(kind(), addresses[line_of(kind)], behind_s=2.0) as caller,
    ):
        await interrupt(caller)
        await caller.until(lambda: caller.cleared and brain.requests)
    history = brain.requests[0].messages
    greeted = next(message.content for message in history if message.role == "assistant")
    greeted = greeted.removeprefix("Noted. ")  # that there is data about the call
    assert WORDS.startswith(greeted)
    # Four words are on the way; without marks they would be taken for heard.
    assert abs(len(greeted.split()) - caller.played_s / WORD_S) <= 1.5


@pytest.mark.parametrize("kind", [one for one in PROVIDERS if one.returns_marks], ids=line_of)
async def test_the_history_has_nothing_that_a_line_that_stands_still_did_not_play(
    kind: type[Provider],
) -> None:
    brain = Brain()
    async with phone_agent(brain) as addresses, calling(kind(), addresses[line_of(kind)]) as caller:
        await caller.until(lambda: caller.playing_s > 1.5)
        caller.hold_back()
        rate_hz = caller.provider.format.rate_hz
        await caller.speak(np.zeros(3 * rate_hz, np.int16))  # he hears nothing, and asks what is
        await caller.speak(np.concatenate([recorded("something.wav", rate_hz), np.zeros(rate_hz, np.int16)]))
        await caller.until(lambda: brain.requests)
        caller.let_come()
        assert caller.cleared
    history = brain.requests[0].messages
    greeted = next(message.content for message in history if message.role == "assistant")
    greeted = greeted.removeprefix("Noted. ")
    assert WORDS.startswith(greeted)
    assert abs(len(greeted.split()) - caller.played_s / WORD_S) <= 2.5
