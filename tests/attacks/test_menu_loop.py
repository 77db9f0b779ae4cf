"""A phone menu without end, and a model that always presses the same key: the call ends all the same."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import numpy as np
from outbound_server import TO, outbound_config, outbound_server
from phone_agent import Ears, Engine
from phone_caller import calling
from recordings import recorded
from simulated_carriers import PUBLIC_URL, Twilio, running

from audio.synthesizers import Speech
from llmcore.engine import Delta, Request, ToolCall, Usage
from llmcore.policies.load_shedding import LoadShedder
from voiceagent.config.tables import AgentTable
from voiceagent.engines.engines import Engines
from voiceagent.server.startup import compose
from voiceagent.session.session import Session
from voiceagent.telemetry.metrics import Metrics


class Presser(Engine):
    """A model that presses 1, whatever it is told."""

    def __init__(self) -> None:
        self.pressed = 0

    async def generate(self, request: Request) -> AsyncGenerator[Delta, None]:
        self.pressed += 1
        call = ToolCall(f"call_{self.pressed}", "send_digits", '{"digits": "1"}')
        yield Delta(tool_calls=(call,))
        yield Delta(finish_reason="tool_calls", usage=Usage())

    async def prefill(self, request: Request) -> None: ...


class Mouth(Engine):
    rate_hz = 24_000

    async def speak(self, text: str) -> AsyncGenerator[Speech, None]:
        yield Speech(np.zeros(2_400, np.int16))


async def test_a_menu_that_loops_for_ever_is_left(tmp_path: Path) -> None:
    model = Presser()
    async with running(Twilio) as carrier:
        agent = AgentTable(instructions="Order.", filler="", apology="Sorry.")
        config = outbound_config(carrier).model_copy(update={"agent": agent})
        services = await compose(
            config, Engines(Ears("For orders, press one."), model, Mouth()), Metrics(), LoadShedder()
        )

        def open_call(call_id, client, name):
            return Session(call_id, services, services.settings, client)

        async with outbound_server(carrier, tmp_path, open_call) as server:
            await server.post({"to": TO, "agent": "orders"})
            url = carrier.stream_url(carrier.asked[0], "")
            address = url.replace(PUBLIC_URL.replace("https", "wss"), f"ws://127.0.0.1:{server.port}")
            async with calling(carrier.line(), address, headers=carrier.handshake(url)) as menu:
                announcement = np.concatenate([recorded("something.wav", 8_000), np.zeros(8_000, np.int16)])
                for _ in range(20):
                    if menu.hung_up or len(carrier.asked) > 1:
                        break
                    await menu.speak(announcement)
                await menu.until(lambda: menu.hung_up or len(carrier.asked) > 1)
            assert carrier.asked[1].fields["Status"] == ["completed"], "Twilio is asked to hang up"
    assert model.pressed < 20
