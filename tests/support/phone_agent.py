"""A server of all phone lines, with an agent that greets with words of half a second each."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager

import numpy as np
import uvicorn
from phone_server import config_of, routes_of
from prompt_server import PromptServer
from starlette.applications import Starlette

from audio.pcm import Samples
from audio.recognizers import Flush, Hypothesis
from audio.synthesizers import Speech
from llmcore.engine import Delta, Request, ToolCall, Usage
from llmcore.policies.load_shedding import LoadShedder
from voiceagent.config.tables import AgentTable
from voiceagent.engines.engines import Engines
from voiceagent.server.startup import compose
from voiceagent.session.session import Session
from voiceagent.telemetry.metrics import Metrics
from voiceagent.transports.telephony.audiosocket import audiosocket
from voiceagent.transports.uvicorn_internals import FastPath

WORDS = "alfa beta zeta iota mica nova opal puma rosa silk tuba vela wolf yoga zinc army bird cake deer"
WORD_S = 0.5


class Engine:
    async def start(self) -> None: ...

    async def close(self) -> None: ...


class Ears(Engine):
    """Understands these words in all voices."""

    def __init__(self, words: str = "please stop talking now") -> None:
        self._words = words

    async def recognize(self, sound: AsyncIterator[Samples | Flush]) -> AsyncGenerator[Hypothesis, None]:
        async for item in sound:
            if isinstance(item, Flush):
                yield Hypothesis(self._words, settled=True)


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
    agent = AgentTable(greeting=WORDS, instructions="You are kind.", filler="", apology="Sorry.")
    config = config.model_copy(update={"agent": agent})
    services = await compose(config, Engines(Ears(), brain, Mouth()), Metrics(), LoadShedder())

    def open_call(call_id, client, model):
        return Session(call_id, services, services.settings, client)

    app = Starlette(routes=routes_of(config, open_call))
    server = PromptServer(
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
