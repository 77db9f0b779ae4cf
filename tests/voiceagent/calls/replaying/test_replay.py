"""A log alone reproduces every decision of its call."""

from __future__ import annotations

from dataclasses import replace

import pytest
from call_settings import call_settings, turn_detection
from call_world import POLICY, CallWorld, Step
from conversation_moves import CALLS, FORGETFUL, LOOK, MOVES, SCRIPTS, run
from hypothesis import given, settings
from hypothesis import strategies as st
from logged_call import log_of

from voiceagent.calls.log.event_log import read_log
from voiceagent.calls.log.texts import Words
from voiceagent.calls.replaying.replay import CannotReplay, replay
from voiceagent.conversation import events as ev
from voiceagent.conversation.agent_config import AgentConfig, LanguageConfig
from voiceagent.conversation.config import HistoryConfig, TurnConfig
from voiceagent.conversation.history import MessageItem
from voiceagent.conversation.privacy import withheld_commands, withheld_event
from voiceagent.conversation.settings import CallSettings
from voiceagent.conversation.turn_policy import TurnPolicy

POLICIES = st.sampled_from([POLICY, FORGETFUL])


def long_call() -> CallWorld:
    return run(call_settings(), [(MOVES[n % len(MOVES)], n % 10) for n in range(200)])


@settings(max_examples=300)
@given(CALLS, SCRIPTS, POLICIES, st.integers(0, 9))
def test_any_call_logged_and_replayed_gives_the_same_commands(
    call: CallSettings, script, policy: TurnPolicy, played: int
):
    world = run(call, script, policy)
    world.feed(ev.CallerGone(next(iter(world.live()), ""), played / 3))
    assert replay(read_log(log_of(world))) is None
    assert all(item.status != "in_progress" for item in messages(world))


def messages(world: CallWorld) -> list[MessageItem]:
    return [item for item in world.conversation.history.items if isinstance(item, MessageItem)]


def test_a_call_with_a_second_opinion_replays() -> None:
    world = CallWorld()
    world.say("do you have a pull", at_s=1.0)
    world.make("Yes, we have a pool.")
    item_id = world.conversation.history.items[0].item_id
    assert world.feed(ev.TranscriptRevised(item_id, "do you have a pool"))
    assert replay(read_log(log_of(world))) is None


@given(st.data())
def test_a_log_that_broke_off_anywhere_replays_up_to_there(data):
    whole = log_of(long_call())
    first_line = whole.index(b"\n") + 1
    broken = read_log(whole[: data.draw(st.integers(first_line, len(whole) - 1))])
    assert broken.ended is None
    assert replay(broken) is None


def test_another_policy_departs_at_the_first_event_it_decides_otherwise():
    world = CallWorld()
    world.say("is there a pool")
    log = read_log(log_of(world))
    other = replace(log.header, policy=replace(POLICY, preemptive_attempts=0))
    departure = replay(replace(log, header=other))
    first = next(record for record in log.records if any(c.get("preemptive") for c in record.commands))
    assert departure is not None
    assert departure.number == first.number
    assert '-{"type":"StartResponse"' in departure.diff()


def without(value, name: str):
    """JSON without a field of this name, at any depth."""
    if isinstance(value, dict):
        return {key: without(item, name) for key, item in value.items() if key != name}
    return [without(item, name) for item in value] if isinstance(value, list) else value


def test_a_log_from_before_a_field_was_there_replays():
    log = read_log(log_of(long_call()))
    older = tuple(replace(record, commands=without(record.commands, "own_prompt")) for record in log.records)
    assert older != log.records
    assert replay(replace(log, records=older)) is None


def test_a_log_from_when_the_conversation_told_who_asks_replays():
    log = read_log(log_of(long_call()))

    def older(command):
        if command["type"] != "StartResponse":
            return command
        return command | {
            "request": command["request"] | {"priority_class": "turn", "due_s": None, "caller": ""}
        }

    records = tuple(replace(record, commands=[*map(older, record.commands)]) for record in log.records)
    assert records != log.records
    assert replay(replace(log, records=records)) is None


def test_a_log_from_before_levels_were_told_replays():
    world = CallWorld(played_s=0.2)
    world.say("is there a pool")
    world.make("Yes, there is.")
    world.begin_speaking(5.0)
    world.feed(ev.InterruptionConfirmed(5.9))
    told = log_of(world)
    older = told.replace(b',"level_db":null', b"").replace(b',"distant_voice_db":12.0', b"")
    assert b"level_db" in told and b"level_db" not in older and b"distant" not in older
    assert replay(read_log(older)) is None


def test_a_log_from_before_tools_had_rounds_replays():
    settings_of_call = call_settings(agent="Clerk", agent_tools=(LOOK,))
    script = [(move, 4) for move in ("speak", "pause", "answer_flush", "end", "fragment", "sound", "spoken")]
    script += [("tool", 1), ("generated", 0), ("tool_ends", 0), ("sent", 0), ("heard", 0)] * 12
    told = log_of(run(settings_of_call, script, replace(POLICY, max_tool_rounds=None)))
    older = told.replace(b',"max_tool_rounds":null', b"")
    assert b"max_tool_rounds" in told and b"max_tool_rounds" not in older
    assert replay(read_log(older)) is None


def test_an_id_that_was_made_otherwise_is_a_departure():
    log = read_log(log_of(long_call()))
    at = next(index for index, record in enumerate(log.records) if record.ids)
    changed = replace(log.records[at], ids=())
    departure = replay(replace(log, records=(*log.records[:at], changed, *log.records[at + 1 :])))
    assert departure is not None
    assert departure.number == at + 1


def test_a_log_with_lost_events_is_not_replayed_past_them():
    log = read_log(log_of(long_call()))
    with pytest.raises(CannotReplay, match="1 events before event 6 could not be written"):
        replay(replace(log, records=log.records[:4] + log.records[5:]))


@pytest.mark.parametrize("words", ["redact", "omit"])
def test_a_log_without_its_words_is_not_replayed(words: Words):
    with pytest.raises(CannotReplay, match="words were not kept"):
        replay(read_log(log_of(long_call(), words)))


def test_call_with_private_input_is_refused_and_not_reported_as_different() -> None:
    world = CallWorld(call_settings(turn_detection=turn_detection(kind="semantic_vad")))
    world.feed(ev.TurnsClaimed(True, private=True))
    world.say("four two four two")
    world.steps = [
        Step(withheld_event(step.event), step.ids, tuple(withheld_commands(step.commands)))
        for step in world.steps
    ]
    with pytest.raises(CannotReplay, match="event 1 begins private input"):
        replay(read_log(log_of(world)))


def test_a_call_in_several_languages_replays_with_each_switch():
    agent = AgentConfig(instructions="Be kind.")
    others = [LanguageConfig().to_agent(code, agent) for code in ("de", "es")]
    policy = TurnConfig().to_policy(agent, HistoryConfig(), others=others)
    world = CallWorld(call_settings(language="en"), policy)
    german = (("de", 0.98), ("en", 0.01), ("es", 0.01))
    world.feed(ev.CallStarted("Hello."))
    world.feed(ev.ItemCreated(MessageItem("a", "user", "Ich hätte gern ein Zimmer."), languages=german))
    item_id = world.begin_speaking()
    world.feed(ev.SpeechPaused(2.0))
    world.feed(
        ev.TranscriptChanged(item_id, "Para dos noches.", "", True, languages=(("es", 0.9), ("en", 0.1)))
    )
    world.feed(ev.TurnEnded(2.0))
    world.feed(ev.LanguageSet("en"))
    world.feed(ev.CallerGone("", 0.0))
    assert world.conversation.settings.language == "en"
    assert replay(read_log(log_of(world))) is None
