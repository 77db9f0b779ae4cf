"""A phone call whose stream is lost while the agent speaks, on a server as users start it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from xml.etree import ElementTree

import httpx
import pytest
from served import calls_at, served
from simulated_carriers import ENVIRONMENT, PUBLIC_URL, Twilio
from websockets.asyncio.client import ClientConnection, connect

from voiceagent.transports.telephony.twilio import HEADER, signature

GREETING = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"
GREETING_S = 0.06 * len(GREETING)
"""Length of the greeting, as `FixedSynthesizer` speaks it."""
MARKS_S = 0.42
"""Time between two marks (`stream/marks.EVERY_FRAMES`)."""
SILENCE_S = 1.5
CONFIG = f"""
[server]
api_keys_env = "API_KEYS"
[agent]
greeting = "{GREETING}"
[recognizer]
engine = "served_engines:FixedRecognizer"
[llm]
engine = "served_engines:FixedLlm"
[synthesizer]
engine = "served_engines:FixedSynthesizer"
[telephony]
public_url = "https://agent.example"
[telephony.twilio]
auth_token_env = "TWILIO_TOKEN"
"""


class Line:
    """Twilio's end of one call: asks for TwiML, and opens the stream that it names."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._webhook = f"{PUBLIC_URL}/telephony/twilio/voice"

    @asynccontextmanager
    async def stream(self) -> AsyncIterator[ClientConnection]:
        form = {"CallSid": "CA1", "From": "+15550123456", "To": "+15550100000"}
        signed = signature(ENVIRONMENT["TWILIO_TOKEN"], self._webhook, {name: [form[name]] for name in form})
        async with httpx.AsyncClient(trust_env=False) as client:
            here = self._webhook.replace(PUBLIC_URL, f"http://{self._address}")
            answer = await client.post(here, data=form, headers={HEADER: signed})
        twiml = ElementTree.fromstring(answer.text)
        self._webhook = twiml.findtext("Redirect", "")
        url = twiml.findall("Connect/Stream")[0].attrib["url"]
        here = url.replace(PUBLIC_URL.replace("https", "wss"), f"ws://{self._address}")
        async with connect(here, additional_headers=Twilio().handshake(url), proxy=None) as websocket:
            for message in Twilio.line().start():
                await websocket.send(message)
            yield websocket


async def heard_s(websocket: ClientConnection, pieces: int | None = None) -> float:
    """Return the seconds of this many pieces of the agent's audio, None for all until it is silent. Each mark
    is returned at once.
    """
    seconds, line = 0.0, Twilio.line()
    with suppress(TimeoutError):
        while pieces != 0:
            command = line.read(await asyncio.wait_for(websocket.recv(), 20 if pieces else SILENCE_S))
            if command.kind == "mark":
                await websocket.send(line.played(command.name))
            elif pieces is not None:
                pieces -= 1
            seconds += command.seconds
    return seconds


@pytest.mark.parametrize("workers", ["1", "3"])
async def test_a_greeting_goes_on_after_its_stream_was_lost(
    workers: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("API_KEYS", "the-key")
    monkeypatch.setenv("TWILIO_TOKEN", ENVIRONMENT["TWILIO_TOKEN"])
    engines = Path(__file__).parents[1] / "bench/fixed_engines.py"
    (tmp_path / "served_engines.py").write_text(engines.read_text())
    config = tmp_path / "served.toml"
    config.write_text(CONFIG)
    async with served(config, options=("--workers", workers)) as address:
        line, heard = Line(address), 0.0
        for _ in range(3):  # with three workers, most of these streams are not at that of the call
            async with line.stream() as lost:
                heard += await heard_s(lost, pieces=10)
                lost.transport.abort()
        async with line.stream() as last:
            heard += await heard_s(last)
            assert await calls_at(address) == 1
    # the audio between the last mark and each loss comes twice; a greeting from the start would be longer
    assert GREETING_S <= heard <= GREETING_S + 3 * MARKS_S + 0.1
