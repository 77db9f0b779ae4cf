"""The LLM is asked whether a turn is over."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from call_settings import call_settings
from call_world import POLICY, CallWorld, of
from turn_pauses import SETTINGS, calling, decision, pauses

from llmcore.engine import Message
from voiceagent.conversation import commands as do
from voiceagent.conversation import events as ev
from voiceagent.conversation.end_of_turn.llm_end import LlmEnd

STATEMENT = "I am coming by car."
END = LlmEnd(scale=1.0, offset=3.0, weight=0.5)
SURE, UNSURE = -0.01, -9.0
"""What the LLM may say of an end."""


def asking_the_llm(**policy: Any) -> CallWorld:
    return CallWorld(SETTINGS, replace(POLICY, language="en", llm_end=END, **policy))


def asked(commands: list[do.Command]) -> list[str]:
    """The words whose end the LLM is asked for."""
    return [command.words for command in of(do.AskTurnEnd, commands)]


def test_an_llm_that_is_calibrated_is_asked_for_the_end_of_the_words_in_a_pause():
    world = asking_the_llm()
    world.feed(ev.CallStarted())
    commands = world.pause(world.begin_speaking(), STATEMENT)
    (ask,) = of(do.AskTurnEnd, commands)
    assert (ask.words, ask.messages[-1]) == (STATEMENT, Message("user", "I am coming by car"))
    # before the response is begun ahead, which takes what room there is
    assert commands.index(ask) < commands.index(of(do.StartResponse, commands)[0])


def test_an_llm_that_is_not_calibrated_is_not_asked():
    assert asked(calling().pause("item", "")) == []
    world = calling()
    assert asked(world.pause(world.begin_speaking(), STATEMENT)) == []


def test_nothing_is_asked_for_a_turn_that_silence_alone_ends():
    world = CallWorld(call_settings(), replace(POLICY, llm_end=END))
    assert asked(world.pause(world.begin_speaking(), STATEMENT)) == []


def test_what_the_llm_says_of_the_end_moves_the_decision():
    for said, way in ((SURE, 1), (UNSURE, -1)):
        world = asking_the_llm()
        item_id, before = pauses(world, STATEMENT)
        after = decision(world.feed(ev.TurnEndScored(item_id, STATEMENT, said)))
        assert "llm" not in dict(before.witnesses)
        assert dict(after.witnesses)["llm"] == END.nats(said)
        assert (after.probability - before.probability) * way > 0


def test_the_llm_says_nothing_of_other_words():
    world = asking_the_llm()
    item_id, before = pauses(world, STATEMENT)
    assert decision(world.feed(ev.TurnEndScored(item_id, "I am coming", SURE))) == before
    world.feed(ev.TurnEndScored(item_id, STATEMENT, SURE))
    world.feed(ev.SpeechResumed(2.1))
    commands = world.pause(item_id, f"{STATEMENT} We come late.", 3.0)
    assert "llm" not in dict(decision(commands).witnesses)
    assert asked(commands) == [f"{STATEMENT} We come late."]


def test_the_llm_is_not_asked_again_for_words_that_it_has_judged():
    world = asking_the_llm()
    item_id, _ = pauses(world, STATEMENT)
    world.feed(ev.TurnEndScored(item_id, STATEMENT, SURE))
    world.feed(ev.SpeechResumed(2.1))
    commands = world.pause(item_id, STATEMENT, 3.0)
    assert asked(commands) == []
    assert "llm" in dict(decision(commands).witnesses)


def test_what_the_llm_says_too_late_changes_nothing():
    world = asking_the_llm()
    item_id, _ = pauses(world, STATEMENT)
    world.feed(ev.SpeechResumed(2.3))
    assert world.feed(ev.TurnEndScored(item_id, STATEMENT, SURE)) == []
