"""Whole calls over every phone line: greeting, interruption, keys, goodbye; the history is what was heard."""

from __future__ import annotations

import asyncio

import numpy as np
import phone_lines
import pytest
from phone_agent import WORD_S, WORDS, Brain, phone_agent
from phone_caller import FRAME_S, PhoneCaller, calling
from phone_lines import AudioSocket, Provider
from recordings import recorded
from structlog.testing import capture_logs

from voiceagent.transports.telephony.stream.keypad import entry_text

PROVIDERS = [
    phone_lines.Twilio,
    phone_lines.Telnyx,
    phone_lines.Plivo,
    phone_lines.Vonage,
    phone_lines.Asterisk,
    AudioSocket,
]


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
