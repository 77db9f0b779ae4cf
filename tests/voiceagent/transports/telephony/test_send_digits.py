"""Keys that the agent sends: by the provider's API, or as tones in its audio."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import numpy as np
import phone_lines
import pytest
from outbound_server import TO, outbound_server
from phone_caller import calling
from phone_lines import Command, Message, Provider
from phone_server import phone_server
from simulated_carriers import CARRIERS, PUBLIC_URL, SimulatedCarrier, running

from audio.dtmf import DtmfDetector
from audio.pcm import AudioFormat, decode
from voiceagent.session.agent import OutboundDetails, ToolFailed
from voiceagent.transports.telephony.line_tools import LineTools

PATHS = {
    "telnyx": "/v2/calls/{id}/actions/send_dtmf",
    "plivo": "/v1/Account/MA1/Call/{id}/DTMF/",
    "vonage": "/v1/calls/{id}/dtmf",
}
SENT: dict[str, Any] = {
    "telnyx": {"digits": "1w2#"},
    "plivo": {"digits": "1w2#", "leg": "aleg"},
    "vonage": {"digits": "1p2#"},
}


def listening(kind: type[Provider], payload: Any) -> tuple[Provider, list[bytes]]:
    """A line that keeps the audio that it is sent."""
    sounds: list[bytes] = []
    line = kind()
    read = line.read

    def keep(message: Message) -> Command:
        command = read(message)
        if command.kind == "sound":
            sounds.append(payload(message))
        return command

    line.read = keep  # type: ignore[method-assign]
    return line, sounds


def of_json(message: Message) -> bytes:
    return base64.b64decode(json.loads(message)["media"]["payload"])


def keys_in(sounds: list[bytes], audio_format: AudioFormat) -> str:
    sound = np.concatenate([decode(sound, audio_format) for sound in sounds])
    return DtmfDetector(audio_format.rate_hz).push(sound)


@pytest.mark.parametrize("kind", CARRIERS, ids=lambda kind: kind.name)
async def test_keys_are_sent_in_a_call_through_each_provider(
    kind: type[SimulatedCarrier], tmp_path: Path
) -> None:
    async with running(kind) as carrier, outbound_server(carrier, tmp_path) as server:
        await server.post({"to": TO})
        answered = await server.provider.post(carrier.event(carrier.asked[0], "answered"))
        url = carrier.stream_url(carrier.asked[0], answered.text)
        address = url.replace(PUBLIC_URL.replace("https", "wss"), f"ws://127.0.0.1:{server.port}")
        line, sounds = listening(carrier.line, of_json if kind.name == "twilio" else lambda message: b"")
        async with calling(line, address, headers=carrier.handshake(url)) as caller:
            await caller.until(lambda: server.calls and server.call.greeted)
            assert server.call.line is not None
            await server.call.line.send_digits("1w2#")
            if kind.name == "twilio":
                await caller.until(lambda: sounds and keys_in(sounds, AudioFormat.PCMU) == "12#")
                assert len(carrier.asked) == 1, "Twilio has no API for keys in a stream"
            else:
                asked = carrier.asked[1]
                assert asked.fields == SENT[kind.name]
                before, after = PATHS[kind.name].split("{id}")
                assert asked.path.startswith(before)
                assert asked.path.endswith(after)


@pytest.mark.parametrize(
    ("kind", "name", "audio_format"),
    [
        (phone_lines.Twilio, "twilio", AudioFormat.PCMU),
        (phone_lines.Asterisk, "asterisk", AudioFormat.PCM_24K),
        (phone_lines.Telnyx, "telnyx", AudioFormat.PCMA),
    ],
    ids=["twilio", "asterisk", "telnyx"],
)
async def test_keys_are_tones_on_a_line_without_an_api(
    kind: type[Provider], name: str, audio_format: AudioFormat
) -> None:
    async with phone_server({name: {}}) as server:
        payload = of_json if name != "asterisk" else bytes
        line, sounds = listening(kind, payload)
        async with calling(line, server.url(name)) as caller:
            await caller.until(lambda: server.calls and server.call.greeted)
            assert server.call.line is not None
            await server.call.line.send_digits("159*0")
            await caller.until(lambda: sounds and keys_in(sounds, audio_format) == "159*0")


async def test_tones_of_a_caller_on_asterisk_are_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    from audio.dtmf import tones  # noqa: PLC0415  beside the line that plays them

    async with (
        phone_server({"asterisk": {}}) as server,
        calling(phone_lines.Asterisk(), server.url("asterisk")) as caller,
    ):
        await caller.until(lambda: server.calls and server.call.greeted)
        await caller.speak(tones("42", 24_000))
        await caller.until(
            lambda: (
                [getattr(one, "digit", "") for one in server.call.requests if hasattr(one, "digit")]
                == ["4", "2"]
            )
        )
        caller.press("7")
        await caller.speak(tones("7", 24_000))
        digits = [one.digit for one in server.call.requests if hasattr(one, "digit")]
        assert digits == ["4", "2", "7"], "the line reports keys, so its tones no longer count"


@pytest.mark.parametrize("digits", ["", "w", "1 2", "one", "1;2", "5" * 65, "é", "１"])
async def test_what_is_no_key_is_refused(digits: str) -> None:
    sent: list[str] = []

    class Keys:
        async def send(self, keys: str) -> None:
            sent.append(keys)

    line = LineTools(None, {}, lambda *_: None, None, Keys())  # type: ignore[arg-type]
    with pytest.raises(ToolFailed, match="allowed"):
        await line.send_digits(digits)
    assert sent == []


def test_the_model_may_press_keys_only_where_the_server_called() -> None:
    class Keys: ...

    outbound = OutboundDetails("+1555", "+1666", "")
    for one, expected in ((None, ["hang_up"]), (outbound, ["hang_up", "send_digits"])):
        line = LineTools(None, {}, lambda *_: None, one, Keys())  # type: ignore[arg-type]
        assert [tool.tool.name for tool in line.offered()] == expected


async def test_a_menu_that_loops_is_left() -> None:
    sent: list[str] = []
    left: list[tuple[str, bool]] = []

    class Keys:
        async def send(self, keys: str) -> None:
            sent.append(keys)

    def leave(reason: str, hang_up: bool) -> None:
        left.append((reason, hang_up))

    heard = lambda: "for orders press one"  # noqa: E731
    line = LineTools(None, {}, leave, OutboundDetails("+1555", "+1666", ""), Keys(), heard)  # type: ignore[arg-type]
    press = line.offered()[-1]
    refused = 0
    while not left:
        try:
            result = await press.run('{"digits": "1"}')
            assert not result.reply, "the menu goes on by itself"
        except ToolFailed:
            refused += 1
    assert sent == ["1", "1"]
    assert refused == 3
    assert left == [("the phone menu loops", True)]
