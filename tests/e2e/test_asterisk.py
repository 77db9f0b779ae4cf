"""A real Asterisk calls the agent, over chan_websocket and AudioSocket, and is called through."""

from __future__ import annotations

import asyncio
import uuid
from pathlib import Path

import numpy as np
import pytest
from asterisk_server import PASSWORD, asterisk, free_port
from outbound_server import outbound_server
from phone_agent import WORDS, Brain, phone_agent
from recordings import recorded
from simulated_carriers import ENVIRONMENT, Asterisk
from structlog.testing import capture_logs

from audio.wav import read_wav, write_wav
from voiceagent.transports.telephony.stream.keypad import entry_text

DIALLED = """
[globals]
PASSWORD = made-for-tests

[phones]
exten => _+15550123456,1,Answer()
 same => n,Wait(30)
exten => _+15550123457,1,Busy(5)
exten => _+15550123458,1,Wait(30)

[voiceagent-dial]
exten => _+X.,1,Dial(Local/${EXTEN}@phones/n,${VOICEAGENT_RING_S})
exten => h,1,Set(CURLOPT(userpwd)=asterisk:${PASSWORD})
 same => n,Set(FORM=status=${DIALSTATUS}&cause=${HANGUPCAUSE}&call=${VOICEAGENT_CALL})
 same => n,Set(ANSWER=${CURL(${VOICEAGENT_REPORT},${FORM})})

[voiceagent-agent]
exten => s,1,Dial(WebSocket/agent/c(slin16)f(json)v(outbound_call=${VOICEAGENT_CALL}))
"""
"""The dialplan of docs/telephony.md, with phones of its own in place of the trunk."""
PHONES = """
[phones]
exten => impatient,1,Answer()
 same => n,MixMonitor(,r({folder}/heard.wav))
 same => n,Wait(1.5)
 same => n,Playback({folder}/something)
 same => n,Wait(3)
 same => n,SendDTMF(1#)
 same => n,Wait(20)
 same => n,Hangup()
exten => patient,1,Answer()
 same => n,Wait(3)
 same => n,Hangup()

[agents]
exten => websocket,1,Answer()
 same => n,Dial(WebSocket/agent/c(slin16)f(json)v(room=12))
exten => plain,1,Answer()
 same => n,Dial(WebSocket/agent/c(ulaw)v(room=12))
exten => audiosocket,1,Answer()
 same => n,AudioSocket({call},127.0.0.1:{port})
"""


@pytest.mark.parametrize("line", ["websocket", "plain", "audiosocket"])
async def test_a_phone_at_a_real_asterisk_interrupts_presses_keys_and_hears_goodbye(
    line: str, tmp_path: Path
) -> None:
    brain = Brain()
    write_wav(tmp_path / "something.wav", recorded("something.wav", 8_000), 8_000)
    async with phone_agent(brain) as addresses:
        dialplan = PHONES.format(folder=tmp_path, call=uuid.uuid4(), port=addresses["audiosocket"])
        url = addresses["asterisk"].partition("?")[0]
        async with asterisk(tmp_path, url, dialplan) as server:
            with capture_logs() as logged:
                await server.call("impatient", line)
                await server.until_idle()
    ended = [entry for entry in logged if entry["event"] == "call_ended"]
    assert [entry["reason"] for entry in ended] == ["the agent hung up"]
    first, *_, last = brain.requests
    greeted = next(message.content for message in first.messages if message.role == "assistant")
    greeted = greeted.removeprefix("Noted. ")
    assert WORDS.startswith(greeted)
    assert 1 <= len(greeted.split()) <= 8
    assert last.messages[-1].content.endswith(entry_text("1#"))
    samples, _ = read_wav(tmp_path / "heard.wav")
    assert np.abs(samples).max() > 500


class RealCarrier(Asterisk):
    """Asterisk as a provider of `outbound_server`, with its own REST interface."""

    def __init__(self, ari_url: str) -> None:
        super().__init__()
        self.api_url = ari_url


@pytest.mark.parametrize(
    ("to", "ends"),
    [("+15550123456", "completed"), ("+15550123457", "busy"), ("+15550123458", "no_answer")],
)
async def test_a_call_through_a_real_asterisk_is_answered_or_says_why_not(
    to: str, ends: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(ENVIRONMENT, "ASTERISK_PASSWORD", PASSWORD)
    monkeypatch.setitem(ENVIRONMENT, "ARI_PASSWORD", PASSWORD)
    port = free_port()
    carrier = RealCarrier(f"http://127.0.0.1:{port}")
    async with outbound_server(carrier, tmp_path, ring_s=5, reachable=True) as server:
        url = server.url("asterisk")
        async with asterisk(tmp_path, url, DIALLED, port) as exchange:
            call = (await server.post({"to": to, "reason": "a survey"})).json()
            if ends == "completed":
                async with asyncio.timeout(30):
                    while not (server.calls and server.call.greeted):  # noqa: ASYNC110
                        await asyncio.sleep(0.05)
                assert server.call.line is not None
                assert server.call.line.outbound is not None
                assert server.call.line.outbound.to == to
                assert (await server.hang_up(call["id"])).is_success
            await exchange.until_idle()
            async with asyncio.timeout(10):
                while (await server.status(call["id"]))["status"] != ends:  # noqa: ASYNC110
                    await asyncio.sleep(0.1)
    assert ("answered" in server.statuses) == (ends == "completed")
