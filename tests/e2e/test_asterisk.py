"""A real Asterisk calls the agent, over chan_websocket and AudioSocket, and is called through."""

from __future__ import annotations

import uuid
from pathlib import Path

import numpy as np
import pytest
from asterisk_server import asterisk
from phone_agent import WORDS, Brain, phone_agent
from recordings import recorded
from structlog.testing import capture_logs

from audio.wav import read_wav, write_wav
from voiceagent.transports.telephony.stream.keypad import entry_text

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
