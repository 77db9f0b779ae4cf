"""Listener to the first words and tones of an outbound call."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest

from audio.pcm import Samples
from voiceagent.conversation import notifications as notify
from voiceagent.transports.telephony.outbound import greeting_listener
from voiceagent.transports.telephony.outbound.greeting_listener import GreetingListener

NEVER_S = 1_000.0


def sine(hz: float, length_s: float) -> Samples:
    at_s = np.arange(round(length_s * 8_000)) / 8_000
    tone = 8_000 * np.sin(2 * np.pi * hz * at_s)
    sound: Samples = np.concatenate([tone, np.zeros(1_600)]).astype(np.int16)
    return sound


def say(listener: GreetingListener, words: str) -> None:
    listener.on_notification(notify.NotifySpeechStarted("item", 0.0))
    listener.on_notification(notify.NotifySpeechStopped("item", 2.0))
    listener.on_notification(notify.NotifyTranscript("item", words, True, 2.0))


async def test_a_persons_hello_decides_without_a_wait_and_ends_the_listening(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(greeting_listener, "MORE_WORDS_S", NEVER_S)
    listener = GreetingListener("call_1")
    listener.start()
    say(listener, "Hello?")
    assert await listener.kind() == "person"
    assert listener.is_over


AMBIGUOUS = "Hi, this is Anna from the office."


async def test_silence_that_ended_the_turn_counts_towards_the_wait_for_more_words(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(greeting_listener, "MORE_WORDS_S", 100.0)
    listener = GreetingListener("call_1")
    listener.push_audio(np.zeros(8_000 * 102, np.int16), 8_000)
    say(listener, AMBIGUOUS)  # until 2.0 s
    async with asyncio.timeout(5):
        assert await listener.kind() == "person"


async def test_transcript_that_is_late_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(greeting_listener, "MORE_WORDS_S", 100.0)
    listener = GreetingListener("call_1")
    listener.push_audio(np.zeros(8_000 * 102, np.int16), 8_000)
    listener.on_notification(notify.NotifySpeechStarted("item", 0.0))
    listener.on_notification(notify.NotifySpeechStopped("item", 2.0))
    kind = asyncio.create_task(listener.kind())
    await asyncio.sleep(0.05)
    assert not kind.done()
    listener.on_notification(notify.NotifyTranscript("item", "Please leave a message.", True, 2.0))
    assert await kind == "voicemail"
    listener.close()


async def test_words_that_follow_put_the_decision_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(greeting_listener, "MORE_WORDS_S", 0.02)
    listener = GreetingListener("call_1")
    say(listener, AMBIGUOUS)
    listener.on_notification(notify.NotifySpeechStarted("item_2", 3.0))
    await asyncio.sleep(0.1)
    listener.on_notification(notify.NotifySpeechStopped("item_2", 5.0))
    listener.on_notification(notify.NotifyTranscript("item_2", "Please leave a message.", True, 2.0))
    assert await listener.kind() == "voicemail"
    listener.close()


async def test_a_message_waits_for_the_beep(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(greeting_listener, "BEEP_SILENCE_S", NEVER_S)
    listener = GreetingListener("call_1")
    listener.start()
    say(listener, "Please leave a message.")
    assert await listener.kind() == "voicemail"
    beep = asyncio.create_task(listener.beep())
    await asyncio.sleep(0)
    assert not listener.is_over
    listener.push_audio(sine(1_000, 0.4), 8_000)
    await beep
    assert listener.is_over


async def test_silence_replaces_the_beep(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(greeting_listener, "BEEP_SILENCE_S", 0.01)
    listener = GreetingListener("call_1")
    say(listener, "Please leave a message.")
    await listener.beep()
    assert listener.is_over


async def test_silence_that_decides_on_a_voicemail_counts_towards_the_one_in_place_of_the_beep(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(greeting_listener, "MORE_WORDS_S", 0.05)
    monkeypatch.setattr(greeting_listener, "BEEP_SILENCE_S", 0.06)
    listener = GreetingListener("call_1")
    say(listener, "You've reached Paul Kent.")
    assert await listener.kind() == "voicemail"
    assert not listener.is_over
    monkeypatch.setattr(greeting_listener, "BEEP_SILENCE_S", NEVER_S)
    await listener.beep()
    assert listener.is_over


async def test_further_words_of_a_voicemail_put_the_message_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(greeting_listener, "BEEP_SILENCE_S", 0.01)
    listener = GreetingListener("call_1")
    say(listener, "Please leave a message.")
    listener.on_notification(notify.NotifySpeechStarted("item_2", 3.0))
    await asyncio.sleep(0.05)
    assert not listener.is_over
    listener.close()


async def test_silence_at_the_start_is_a_persons(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(greeting_listener, "NO_WORDS_S", 0.01)
    listener = GreetingListener("call_1")
    listener.start()
    assert await listener.kind() == "person"


async def test_a_fax_is_decided_by_its_tone() -> None:
    listener = GreetingListener("call_1")
    listener.push_audio(sine(2_100, 3.0), 8_000)
    assert await listener.kind() == "fax"


async def test_the_end_of_the_call_ends_the_waits() -> None:
    listener = GreetingListener("call_1")
    listener.start()
    waits = asyncio.gather(listener.kind(), listener.beep())
    await asyncio.sleep(0)
    listener.close()
    assert (await waits)[0] is None
