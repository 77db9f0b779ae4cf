"""Reports: what the application behind a call wants told is told once, whatever the call is doing."""

from __future__ import annotations

from dataclasses import replace

import pytest
from call_settings import call_settings
from call_world import CallWorld, fragment, of, speech
from logged_call import log_of

from llmcore.engine import Message, Tool, ToolCall
from voiceagent.calls.log.event_log import read_log
from voiceagent.calls.replaying.replay import replay
from voiceagent.conversation import commands as do
from voiceagent.conversation import events as ev
from voiceagent.conversation.history import MessageItem
from voiceagent.conversation.settings import CallSettings

NEWS, MORE = "it rains", "it is cold"
DELEGATING = call_settings(tools=(Tool("delegate", ""),))


def report(world: CallWorld, news: str = NEWS, fallback: str = "") -> list[do.Command]:
    """The application adds a message, and has it told."""
    item = MessageItem(f"news_{len(world.commands)}", "system", news)
    commands = world.feed(ev.ItemCreated(item))
    wanted = ev.ReplyRequested(f"Tell: {news}", words_only=True, is_report=True, fallback=fallback)
    return commands + world.feed(wanted)


def fail(world: CallWorld) -> None:
    """The model fails, and what is heard of its response ends."""
    response_id = world.response_id()
    world.feed(ev.ResponseFailed(response_id, "llm", "the engine's reply has no words: ''"))
    world.play_out(response_id)


def said_as_it_is(world: CallWorld) -> list[str]:
    """Return the texts that were spoken without the model."""
    return [start.say for start in of(do.StartResponse, world.commands) if start.say]


def tellings(world: CallWorld) -> list[do.StartResponse]:
    """Return the responses that began, and had to tell a report."""
    return [
        start
        for start in of(do.StartResponse, world.commands)
        if start.request.messages[-1].content.startswith("Tell: ") and start.response_id in world.begun
    ]


def guidance(start: do.StartResponse) -> str:
    return start.request.messages[-1].content


def answered_call(settings: CallSettings | None = None) -> CallWorld:
    world = CallWorld(settings or call_settings())
    world.say("what is the weather")
    world.play_out(world.make("One moment."))
    return world


def test_report_to_a_silent_line_is_told_at_once_by_a_model_that_sees_no_tools():
    world = answered_call(DELEGATING)
    (start,) = of(do.StartResponse, report(world, fallback=NEWS))
    assert start.request.messages[-2:] == (Message("system", NEWS), Message("system", f"Tell: {NEWS}"))
    assert (start.request.tools, start.request.tool_choice) == ((), "none")


def test_report_while_the_caller_speaks_is_part_of_the_answer():
    world = answered_call(DELEGATING)
    item_id = world.begin_speaking(5.0)
    assert not of(do.StartResponse, report(world))
    world.pause(item_id, "and tomorrow", 6.0)
    world.feed(ev.TurnEnded(6.0))
    (told,) = tellings(world)
    assert told.request.messages[-3:] == (
        Message("system", NEWS),
        Message("user", "and tomorrow"),
        Message("system", f"Tell: {NEWS}"),
    )
    assert told.request.tools, "the caller may want more work"
    assert not of(do.StartResponse, world.play_out(world.make("It rains, tomorrow too.")))


def test_answer_that_was_begun_in_a_pause_before_the_report_is_made_again_with_it():
    world = answered_call()
    item_id = world.begin_speaking(5.0)
    world.pause(item_id, "and tomorrow", 6.0)
    (early,) = world.preemptive
    report(world)
    world.feed(ev.TurnEnded(6.0))
    (told,) = tellings(world)
    assert told.response_id != early
    assert not of(do.StartResponse, world.play_out(world.make("It rains, tomorrow too.")))


def test_answer_that_is_begun_in_a_pause_after_the_report_tells_it():
    world = answered_call()
    item_id = world.begin_speaking(5.0)
    report(world)
    world.pause(item_id, "and tomorrow", 6.0)
    (early,) = world.preemptive
    world.feed(ev.TurnEnded(6.0))
    assert [told.response_id for told in tellings(world)] == [early]
    assert not of(do.StartResponse, world.play_out(world.make("It rains, tomorrow too.")))


def test_report_is_told_alone_after_a_noise():
    world = answered_call(DELEGATING)
    item_id = world.begin_speaking(5.0)
    report(world)
    world.pause(item_id, "", 6.0)
    world.feed(ev.TurnEnded(6.0))
    (told,) = tellings(world)
    assert told.request.tools == ()


def test_reports_while_the_agent_speaks_are_told_by_one_response():
    world = CallWorld()
    world.say("what is the weather")
    world.make("One moment.")
    for news in (NEWS, MORE, NEWS):
        report(world, news)
    world.play_out(world.response_id())
    (told,) = tellings(world)
    assert guidance(told) == f"Tell: {NEWS}\nTell: {MORE}"
    assert not of(do.StartResponse, world.play_out(world.make("It rains and is cold.")))


def test_report_that_comes_while_another_is_told_follows_it():
    world = answered_call()
    report(world)
    assert not of(do.StartResponse, report(world, MORE))
    world.play_out(world.make("It rains."))
    assert [guidance(told) for told in tellings(world)] == [f"Tell: {NEWS}", f"Tell: {MORE}"]


def test_report_that_comes_again_while_it_is_told_is_not_told_twice():
    world = answered_call()
    report(world)
    report(world)
    assert not of(do.StartResponse, world.play_out(world.make("It rains.")))


def test_report_that_comes_again_later_is_told_again():
    world = answered_call()
    for _ in range(2):
        report(world)
        world.play_out(world.make("It rains."))
    assert len(tellings(world)) == 2


def test_report_that_is_interrupted_unheard_is_part_of_the_answer_to_the_interruption():
    world = answered_call()
    report(world)
    world.make("It rains.")
    item_id = world.begin_speaking(5.0)
    world.feed(ev.InterruptionConfirmed(5.5))
    world.pause(item_id, "and tomorrow", 6.0)
    world.feed(ev.TurnEnded(6.0))
    assert len(tellings(world)) == 2
    assert tellings(world)[-1].request.messages[-2] == Message("user", "and tomorrow")


def test_report_that_is_interrupted_after_some_of_it_is_not_repeated():
    world = answered_call()
    report(world)
    world.make("It rains.", "All day.")
    world.played_s = 1.5
    item_id = world.begin_speaking(5.0)
    world.feed(ev.InterruptionConfirmed(5.5))
    world.pause(item_id, "and tomorrow", 6.0)
    world.feed(ev.TurnEnded(6.0))
    assert len(tellings(world)) == 1


def test_answer_that_calls_a_tool_in_place_of_telling_is_followed_by_the_report():
    world = answered_call(DELEGATING)
    item_id = world.begin_speaking(5.0)
    report(world)
    world.pause(item_id, "and tomorrow", 6.0)
    world.feed(ev.TurnEnded(6.0))
    response_id = world.response_id()
    world.feed(ev.ToolCallsReady(response_id, (ToolCall("call_9", "delegate", "{}"),)))
    world.feed(ev.ResponseGenerated(response_id, "tool_calls", world.usage))
    world.play_out(response_id)
    first, second = tellings(world)
    assert first.request.tools and not second.request.tools


def test_failure_of_the_model_does_not_tell_a_report_for_ever():
    world = answered_call()
    report(world)
    world.feed(ev.ResponseFailed(world.response_id(), "llm", "it broke"))
    world.play_out(world.response_id())
    assert len(tellings(world)) == 1


def test_report_that_the_model_fails_to_tell_is_spoken_as_it_is():
    world = answered_call(DELEGATING)
    report(world, fallback=NEWS)
    fail(world)
    assert said_as_it_is(world) == [NEWS]
    assert not of(do.Apologise, world.commands)
    assert not of(do.StartResponse, world.play_out(world.make(NEWS)))
    assert world.conversation.history.items[-1] == replace(
        world.conversation.history.items[-1], role="assistant", text=NEWS
    )


def test_report_told_by_an_answer_without_words_is_spoken_as_it_is():
    world = answered_call()
    report(world, fallback=NEWS)
    world.play_out(world.make("..."))
    assert said_as_it_is(world) == [NEWS]


def test_report_whose_telling_breaks_off_is_spoken_as_it_is():
    world = answered_call()
    report(world, fallback=NEWS)
    response_id = world.response_id()
    world.feed(ev.FragmentReady(response_id, fragment("It")))
    world.feed(ev.SpeechReady(response_id, speech(0.2)))
    world.feed(ev.FragmentSpoken(response_id))
    fail(world)
    assert said_as_it_is(world) == [NEWS]


def test_report_that_an_answer_to_the_caller_fails_to_tell_is_spoken_as_it_is():
    world = answered_call(DELEGATING)
    item_id = world.begin_speaking(5.0)
    report(world, fallback=NEWS)
    world.pause(item_id, "are you there", 6.0)
    world.feed(ev.TurnEnded(6.0))
    fail(world)
    assert said_as_it_is(world) == [NEWS]
    assert not of(do.Apologise, world.commands)


def test_reports_that_the_model_fails_to_tell_together_are_spoken_together():
    world = CallWorld()
    world.say("what is the weather")
    world.make("One moment.")
    for news in (NEWS, MORE, NEWS):
        report(world, news, fallback=news)
    world.play_out(world.response_id())
    fail(world)
    assert said_as_it_is(world) == [f"{NEWS} {MORE}"]


def test_report_spoken_as_it_is_waits_for_the_caller_and_does_not_replace_the_answer():
    world = answered_call()
    report(world, fallback=NEWS)
    response_id = world.response_id()
    world.feed(ev.ResponseFailed(response_id, "llm", "it broke"))
    item_id = world.begin_speaking(5.0)
    world.play_out(response_id)
    assert not said_as_it_is(world)
    world.pause(item_id, "and tomorrow", 6.0)
    world.feed(ev.TurnEnded(6.0))
    assert said_as_it_is(world) == [NEWS]
    (answer,) = of(do.StartResponse, world.play_out(world.make(NEWS)))
    assert not answer.say


def test_report_that_comes_again_before_it_is_spoken_as_it_is_is_spoken_once():
    world = answered_call()
    report(world, fallback=NEWS)
    response_id = world.response_id()
    world.feed(ev.ResponseFailed(response_id, "llm", "it broke"))
    item_id = world.begin_speaking(5.0)
    world.play_out(response_id)
    report(world, fallback=NEWS)
    world.pause(item_id, "and tomorrow", 6.0)
    world.feed(ev.TurnEnded(6.0))
    (answer,) = of(do.StartResponse, world.play_out(world.make(NEWS)))
    assert said_as_it_is(world) == [NEWS]
    assert answer.request.messages[-1].content != f"Tell: {NEWS}"


def test_voice_that_fails_to_speak_a_report_as_it_is_apologises():
    world = answered_call()
    report(world, fallback=NEWS)
    fail(world)
    fail(world)
    assert said_as_it_is(world) == [NEWS]
    assert len(of(do.Apologise, world.commands)) == 1


def test_report_spoken_as_it_is_that_is_interrupted_unheard_is_part_of_the_next_answer():
    world = answered_call()
    report(world, fallback=NEWS)
    fail(world)
    world.make(NEWS)
    item_id = world.begin_speaking(5.0)
    world.feed(ev.InterruptionConfirmed(5.5))
    world.pause(item_id, "and tomorrow", 6.0)
    world.feed(ev.TurnEnded(6.0))
    assert tellings(world)[-1].request.messages[-2] == Message("user", "and tomorrow")


def test_call_hangs_up_after_the_report():
    world = CallWorld()
    world.say("what is the weather")
    world.make("One moment.")
    report(world)
    world.feed(ev.HangUpRequested("done"))
    assert not of(do.HangUp, world.play_out(world.response_id()))
    assert of(do.HangUp, world.play_out(world.make("It rains.")))


@pytest.mark.parametrize("speaks", [False, True])
def test_call_with_reports_replays(speaks: bool):
    world = answered_call()
    if speaks:
        item_id = world.begin_speaking(5.0)
        report(world, fallback=NEWS)
        world.pause(item_id, "and tomorrow", 6.0)
        world.feed(ev.TurnEnded(6.0))
    else:
        report(world, fallback=NEWS)
    fail(world)
    assert replay(read_log(log_of(world))) is None
