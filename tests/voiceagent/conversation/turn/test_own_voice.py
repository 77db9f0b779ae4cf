"""The agent's own voice, come back as an echo: no turn. A caller who repeats the agent's words is heard."""

from __future__ import annotations

import pytest
from call_world import CallWorld, of, said
from hypothesis import given
from hypothesis import strategies as st

from voiceagent.conversation import commands as do
from voiceagent.conversation import events as ev
from voiceagent.conversation import notifications as notify

ANSWER = "Breakfast is served from seven to ten in the garden room."
WORDS = ANSWER.removesuffix(".").split()
SECONDS = 4.0
LETTER_S = SECONDS / len(ANSWER)
"""Without word timings all letters last equally long."""


def answering() -> tuple[CallWorld, str]:
    """The agent is saying its answer, which began at 10 s of the call's audio."""
    world = CallWorld()
    world.say("when is breakfast")
    return world, world.make(ANSWER, seconds=SECONDS)


def voice(
    world: CallWorld, response_id: str, words: str, played_s: float, seconds: float, confirmed: bool = False
) -> list[do.Command]:
    """A voice over the agent, from its start to its end."""
    at_s = 10.0 + played_s
    item_id = world.begin_speaking(at_s)
    commands = world.feed(ev.SpokeOverAgent(response_id, played_s))
    commands += world.feed(ev.InterruptionCandidate(at_s + 0.1))
    commands += world.feed(ev.TranscriptChanged(item_id, words, words))
    if confirmed:
        commands += world.feed(ev.InterruptionConfirmed(at_s + 0.9))
    commands += world.pause(item_id, words, at_s + seconds)
    return commands + world.feed(ev.TurnEnded(at_s + seconds))


def begins_s(index: int) -> float:
    """Return the second of the answer at which the word at this index begins."""
    return ANSWER.index(WORDS[index]) * LETTER_S


@given(st.integers(0, len(WORDS) - 3), st.integers(3, 6), st.floats(0.0, 0.4))
def test_an_echo_of_several_words_neither_interrupts_nor_is_answered(index: int, count: int, delay_s: float):
    world, response_id = answering()
    words = WORDS[index : index + count]
    seconds = len(" ".join(words)) * LETTER_S
    commands = voice(world, response_id, " ".join(words), begins_s(index) + delay_s, seconds)
    assert not of(do.StopPlayout, commands) and not of(do.StartResponse, commands)
    assert of(do.RestorePlayout, commands)
    world.play_out(response_id)
    assert said(world)[-1] == ("assistant", ANSWER)


@given(st.integers(0, len(WORDS) - 3), st.integers(3, 6), st.floats(0.5, 1.5))
def test_a_caller_who_repeats_words_of_the_agent_interrupts(index: int, count: int, after_s: float):
    world, response_id = answering()
    words = WORDS[index : index + count]
    ends_s = begins_s(index) + len(" ".join(words)) * LETTER_S
    commands = voice(world, response_id, " ".join(words), ends_s + after_s, 1.0)
    assert of(do.StopPlayout, commands) or of(notify.NotifyInputCommitted, commands)


def test_a_misheard_echo_is_an_echo():
    world, response_id = answering()
    commands = voice(world, response_id, "breakfast is serve from seven", 0.2, 1.8)
    assert not of(do.StopPlayout, commands) and of(do.RestorePlayout, commands)


def test_other_words_over_the_agent_interrupt_it():
    world, response_id = answering()
    assert of(do.StopPlayout, voice(world, response_id, "what about parking", 1.0, 1.0))


def test_an_echo_of_one_word_is_dropped_only_where_the_line_has_an_echo():
    world, response_id = answering()
    at_s = begins_s(4)
    voice(world, response_id, "seven", at_s + 0.2, 0.4)
    world.play_out(response_id)
    assert ("user", "seven") in said(world)

    world, response_id = answering()
    world.feed(ev.EchoMeasured(0.2))
    voice(world, response_id, "seven", at_s + 0.2, 0.4)
    world.play_out(response_id)
    assert ("user", "seven") not in said(world)


def test_an_echo_after_the_response_is_not_answered():
    world, response_id = answering()
    world.feed(ev.EchoMeasured(0.5))
    world.play_out(response_id)
    commands = voice(world, response_id, "garden room", SECONDS + 0.1, 0.4)
    assert not of(do.StartResponse, commands)


@pytest.mark.parametrize("words", ["breakfast is served", ""])
def test_a_voice_that_is_measured_as_echo_is_dropped_and_the_agent_goes_on(words: str):
    world, response_id = answering()
    item_id = world.begin_speaking(10.5)
    world.feed(ev.SpokeOverAgent(response_id, 0.5))
    world.feed(ev.InterruptionCandidate(10.6))
    world.feed(ev.TranscriptChanged(item_id, words, ""))
    commands = world.feed(ev.EchoMeasured(0.2))
    assert of(do.StopRecognition, commands) and of(do.RestartDetection, commands)
    assert of(do.RestorePlayout, commands)
    assert world.live() == {response_id}


def test_a_caller_who_speaks_too_is_heard_once_the_echo_is_cancelled():
    world, response_id = answering()
    world.begin_speaking(10.5)
    world.feed(ev.EchoMeasured(0.2))
    commands = voice(world, response_id, "what about parking", 1.0, 1.0)
    assert of(do.StopPlayout, commands)
