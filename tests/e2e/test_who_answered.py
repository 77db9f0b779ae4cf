"""Outbound calls that a person, or a voicemail, answers: from the REST API to the sound on the line."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import numpy as np
import pytest
from outbound_server import OWN, TO
from phone_caller import PhoneCaller, calling
from served import served
from simulated_carriers import ENVIRONMENT, PUBLIC_URL, Posting, Twilio, running
from sounds import said

from audio.pcm import Samples
from audio.recognizers import SAMPLE_RATE_HZ
from audio.resample import resample

AGENT = """
from voiceagent.agents import Agent

class Shop(Agent):
    instructions = "You call about orders."
    greeting = "Good morning, your pizza is ready."
    leave_message = {message!r}
"""
OWN_HOOK = """
    async def on_answered(self, kind):
        await super().on_answered(kind)
"""
CONFIG = """
[server]
port = 0
api_keys_env = "API_KEYS"
[agent]
python = "shop:Shop"
[recognizer]
engine = "served_engines:FixedRecognizer"
text = {words!r}
[llm]
engine = "served_engines:FixedLlm"
[synthesizer]
engine = "served_engines:FixedSynthesizer"
[telephony]
public_url = "{public_url}"
tools = false
[telephony.twilio]
auth_token_env = "TWILIO_TOKEN"
account_sid = "AC1"
api_url = "{api_url}"
[outbound]
allow = ["+1555"]
numbers = {{ twilio = "{own}" }}
"""
RATE_HZ = 8_000


def silence(length_s: float) -> Samples:
    return np.zeros(round(length_s * RATE_HZ), np.int16)


def beep() -> Samples:
    at_s = np.arange(round(0.4 * RATE_HZ)) / RATE_HZ
    return (8_000 * np.sin(2 * np.pi * 1_000 * at_s)).astype(np.int16)


async def greeting(words: str) -> Samples:
    return resample(await said(words), SAMPLE_RATE_HZ, RATE_HZ)


@asynccontextmanager
async def answering(
    folder: Path, monkeypatch: pytest.MonkeyPatch, words: str, message: str = "", own_hook: str = ""
) -> AsyncIterator[PhoneCaller]:
    """An outbound call that was answered, in which the recognizer understands `words`."""
    monkeypatch.setenv("API_KEYS", "the-key")
    monkeypatch.setenv("TWILIO_TOKEN", ENVIRONMENT["TWILIO_TOKEN"])
    (folder / "shop.py").write_text(AGENT.format(message=message) + own_hook)
    engines = Path(__file__).parents[1] / "bench/fixed_engines.py"
    (folder / "served_engines.py").write_text(engines.read_text())
    async with running(Twilio) as carrier:
        path = folder / "served.toml"
        path.write_text(CONFIG.format(words=words, public_url=PUBLIC_URL, api_url=carrier.api_url, own=OWN))
        async with served(path) as address:
            async with httpx.AsyncClient(base_url=f"http://{address}", trust_env=False) as client:
                key = {"authorization": "Bearer the-key"}
                assert (await client.post("/v1/calls", json={"to": TO}, headers=key)).is_success
            provider = Posting(int(address.rpartition(":")[2]))
            await provider.post(carrier.event(carrier.asked[0], "answered"))
            stream = carrier.stream_url(carrier.asked[0], "")
            here = stream.replace(PUBLIC_URL.replace("https", "wss"), f"ws://{address}")
            async with calling(carrier.line(), here, headers=carrier.handshake(stream)) as caller:
                yield caller


async def test_a_person_is_greeted_after_hello(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hello = await greeting("Hello? Is anybody there?")
    async with answering(tmp_path, monkeypatch, "Hello?", own_hook=OWN_HOOK) as caller:
        await caller.speak(silence(0.3))
        assert caller.playing_s == 0, "the agent listens first"
        await caller.speak(hello)
        for _ in range(40):
            if caller.playing_s:
                break
            await caller.speak(silence(0.1))
        assert caller.playing_s > 0
        await caller.speak(silence(0.5))
        assert not caller.hung_up


VOICEMAIL = "You have reached Tom. Leave a message after the beep."


async def test_a_voicemail_gets_the_message_after_its_beep_and_the_agent_hangs_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    announcement = await greeting(VOICEMAIL)
    async with answering(tmp_path, monkeypatch, VOICEMAIL, "Call me back, please.") as caller:
        await caller.speak(silence(0.3))
        await caller.speak(announcement)
        await caller.speak(silence(1.2))
        assert caller.playing_s == 0, "the message must not be spoken before the beep"
        await caller.speak(beep())
        for _ in range(60):
            if caller.hung_up:
                break
            await caller.speak(silence(0.1))
        assert caller.hung_up
        assert caller.playing_s > 1.0, "the call ended before the message was played"


async def test_an_agent_that_makes_no_difference_greets_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with answering(tmp_path, monkeypatch, "Hello?") as caller:
        for _ in range(40):
            if caller.playing_s:
                break
            await caller.speak(silence(0.1))
        assert caller.playing_s > 0


async def test_a_voicemail_is_hung_up_on_without_a_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    announcement = await greeting(VOICEMAIL)
    async with answering(tmp_path, monkeypatch, VOICEMAIL, own_hook=OWN_HOOK) as caller:
        await caller.speak(silence(0.3))
        await caller.speak(announcement)
        for _ in range(40):
            if caller.hung_up:
                break
            await caller.speak(silence(0.1))
        assert caller.hung_up
        assert caller.playing_s == 0
