"""A caller who continues after a pause that was taken for the end of the turn."""

from __future__ import annotations

from dataclasses import replace

from call_settings import call_settings, turn_detection
from call_world import POLICY, CallWorld, fragment, of
from hypothesis import given
from hypothesis import strategies as st

from llmcore.engine import Message
from voiceagent.conversation import commands as do
from voiceagent.conversation import events as ev
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.prompting.items import to_messages


def cut_off(world: CallWorld) -> str:
    """The caller pauses at 2.0 s and is answered too early; returns the response."""
    world.say("do you have a pool or", at_s=1.0)
    return world.make("Yes, we have a pool.")


def go_on(world: CallWorld, words: str, at_s: float = 2.6) -> list[do.Command]:
    """The caller says the rest."""
    item_id = world.begin_speaking(at_s)
    commands = world.pause(item_id, words, at_s + 1)
    return commands + world.feed(ev.TurnEnded(at_s + 1))


def test_the_agent_is_silent_at_the_first_sign_of_a_voice():
    world = CallWorld()
    cut_off(world)
    assert world.feed(ev.VoiceNoticed(2.6)) == [do.HoldPlayout()]
    assert of(do.HoldPlayout, world.feed(ev.SpeechStarted(2.6)))


def test_what_was_no_voice_lets_it_go_on():
    world = CallWorld()
    cut_off(world)
    world.feed(ev.VoiceNoticed(2.6))
    assert world.feed(ev.VoiceFaded(2.65)) == [do.RestorePlayout()]


def test_one_word_takes_the_response_back():
    world = CallWorld()
    response_id = cut_off(world)
    item_id = world.begin_speaking(2.6)
    commands = world.feed(ev.TranscriptChanged(item_id, "a sauna", "a"))
    assert do.StopPlayout(response_id, "resumed_turn") in commands
    assert of(notify.NotifyResponseEnded, commands)[0].status == "cancelled"


def test_short_voice_takes_the_response_back_before_its_first_word() -> None:
    world = CallWorld()
    response_id = cut_off(world)
    world.begin_speaking(2.6)
    commands = world.feed(ev.InterruptionCandidate(2.7))
    assert do.StopPlayout(response_id, "resumed_turn") in commands
    assert of(notify.NotifyResponseEnded, commands)[0].status == "cancelled"


def test_after_a_voice_without_words_the_next_needs_a_word() -> None:
    world = CallWorld()
    cut_off(world)
    noise = world.begin_speaking(2.6)
    world.feed(ev.InterruptionCandidate(2.7))
    world.pause(noise, "", 2.8)
    world.feed(ev.TurnEnded(2.8))
    world.make("Yes, we have a pool.")
    world.begin_speaking(3.5)
    assert world.feed(ev.InterruptionCandidate(3.6)) == [do.HoldPlayout()]


def test_logs_of_older_builds_wait_for_a_word() -> None:
    world = CallWorld(policy=replace(POLICY, resume_as_whole=False))
    cut_off(world)
    commands = world.feed(ev.SpeechStarted(2.6))
    assert [command.continues for command in of(do.StartRecognition, commands)] == [""]
    assert world.feed(ev.InterruptionCandidate(2.7)) == [do.HoldPlayout()]


def test_resumed_turn_continues_the_recognition() -> None:
    world = CallWorld()
    cut_off(world)
    (stopped,) = of(do.StopRecognition, world.commands)
    assert (stopped.resumable_as, stopped.resumable_until_s) == (stopped.item_id, 2.0 + POLICY.resume_s)
    (begun,) = of(do.StartRecognition, world.feed(ev.SpeechStarted(2.6)))
    assert begun.continues == stopped.item_id


def test_after_a_noise_the_recognition_can_still_be_continued() -> None:
    world = CallWorld()
    cut_off(world)
    (stopped,) = of(do.StopRecognition, world.commands)
    noise = world.begin_speaking(2.6)
    world.pause(noise, "", 2.65)
    (dropped,) = of(do.StopRecognition, world.feed(ev.TurnEnded(2.65)))
    assert (dropped.item_id, dropped.resumable_as) == (noise, stopped.item_id)


def test_words_at_the_cut_are_corrected_in_the_history_and_for_the_answer() -> None:
    world = CallWorld(played_s=0.6)
    world.say("four st", at_s=1.0)
    world.make("What is that?")
    item_id = world.begin_speaking(2.6)
    world.feed(ev.SpeechPaused(3.6))
    commands = world.feed(ev.TranscriptChanged(item_id, "aligner", "", True, earlier=("forced",)))
    commands += world.feed(ev.TurnEnded(3.6))
    (start,) = of(do.StartResponse, commands)
    assert start.request.messages == (Message("user", "forced aligner"),)
    assert to_messages(world.conversation.history.items) == (Message("user", "forced aligner"),)


def test_nothing_of_the_response_is_in_the_history_whatever_has_sounded():
    world = CallWorld(played_s=0.6)
    cut_off(world)
    go_on(world, "a sauna")
    assert [message.role for message in to_messages(world.conversation.history.items)] == ["user"]


def test_both_parts_are_answered_as_one_turn():
    world = CallWorld(played_s=0.6)
    cut_off(world)
    (start,) = of(do.StartResponse, go_on(world, "a sauna"))
    assert start.request.messages == (Message("user", "do you have a pool or a sauna"),)


def test_the_answer_to_the_whole_is_ready_when_the_turn_ends():
    world = CallWorld(played_s=0.6)
    cut_off(world)
    item_id = world.begin_speaking(2.6)
    (start,) = of(do.StartResponse, world.pause(item_id, "a sauna", 3.0))
    assert start.preemptive
    assert of(do.ReleaseResponse, world.feed(ev.TurnEnded(3.0)))


def test_a_turn_may_be_resumed_again_and_again():
    world = CallWorld(played_s=0.6)
    cut_off(world)
    go_on(world, "a sauna", at_s=2.6)
    world.make("A sauna, yes.")
    (start,) = of(do.StartResponse, go_on(world, "a gym", at_s=4.2))
    assert start.request.messages == (Message("user", "do you have a pool or a sauna a gym"),)


def test_the_next_pause_is_judged_by_all_words():
    policy = replace(POLICY, language="en")
    world = CallWorld(call_settings(turn_detection=turn_detection(kind="semantic_vad")), policy)
    world.say("if we arrive late", at_s=1.0)
    world.make("Late arrival is no problem.")
    item_id = world.begin_speaking(2.6)
    (silence,) = of(do.RequireSilence, world.pause(item_id, "in the evening", 3.0))
    assert silence.decision.silence_s > 1.0


def test_a_backchannel_takes_nothing_back():
    world = CallWorld()
    cut_off(world)
    commands = go_on(world, "uh huh")
    assert of(do.RestorePlayout, commands) and not of(do.StopPlayout, commands)


def a_noise_that_lasts(world: CallWorld) -> str:
    cut_off(world)
    item_id = world.begin_speaking(2.6)
    world.feed(ev.InterruptionConfirmed(3.5))
    return item_id


def test_a_noise_that_lasted_has_the_response_made_again_while_the_end_is_awaited():
    world = CallWorld(played_s=0.6)
    item_id = a_noise_that_lasts(world)
    (start,) = of(do.StartResponse, world.pause(item_id, "", 3.6))
    assert start.preemptive and start.request.messages == (Message("user", "do you have a pool or"),)
    assert of(do.ReleaseResponse, world.feed(ev.TurnEnded(3.6))) == [do.ReleaseResponse(start.response_id)]


def test_it_is_made_again_after_the_end_in_logs_of_older_builds():
    world = CallWorld(policy=replace(POLICY, preempt_without_words=False), played_s=0.6)
    item_id = a_noise_that_lasts(world)
    assert not of(do.StartResponse, world.pause(item_id, "", 3.6))
    (start,) = of(do.StartResponse, world.feed(ev.TurnEnded(3.6)))
    assert start.request.messages == (Message("user", "do you have a pool or"),)


def test_a_noise_after_an_answered_turn_is_not_answered_ahead():
    world = CallWorld(played_s=0.6)
    world.say("do you have a pool", at_s=1.0)
    world.play_out(world.make("Yes, we have a pool."))
    item_id = world.begin_speaking(9.0)
    assert not of(do.StartResponse, world.pause(item_id, "", 9.4))


def test_a_voice_after_longer_silence_is_an_interruption():
    world = CallWorld(played_s=0.6)
    cut_off(world)
    assert of(do.DuckPlayout, world.feed(ev.VoiceNoticed(4.0)))
    go_on(world, "and a sauna", at_s=4.0)
    roles = [message.role for message in to_messages(world.conversation.history.items)]
    assert roles == ["user", "assistant", "user"]


def test_it_can_be_turned_off():
    world = CallWorld(policy=replace(POLICY, resume_s=0.0), played_s=0.6)
    cut_off(world)
    assert of(do.DuckPlayout, world.feed(ev.VoiceNoticed(2.6)))
    go_on(world, "and a sauna")
    roles = [message.role for message in to_messages(world.conversation.history.items)]
    assert roles == ["user", "assistant", "user"]


def test_a_response_that_the_client_asked_for_is_not_taken_back():
    world = CallWorld(played_s=0.6)
    world.say("", at_s=1.0)
    world.feed(ev.ResponseRequested())
    world.make("Hello, this is the bakery.")
    assert of(do.DuckPlayout, world.feed(ev.VoiceNoticed(2.6)))


def test_a_text_that_is_taken_back_leaves_nothing_in_the_history():
    world = CallWorld(call_settings(output_modality="text"))
    world.say("do you have a pool or", at_s=1.0)
    world.feed(ev.FragmentReady(world.response_id(), fragment("Yes, we have.")))
    go_on(world, "a sauna")
    assert [message.role for message in to_messages(world.conversation.history.items)] == ["user"]


HESITATING = replace(POLICY, language="en", hesitations=frozenset({"uh", "um"}))


@given(st.lists(st.sampled_from(["uh", "um", "uh um"]), min_size=1, max_size=4), st.floats(0.2, 0.5))
def test_hesitations_after_a_false_end_have_the_turn_answered_once_more_at_most(
    hesitations: list[str], gap_s: float
):
    world = CallWorld(policy=HESITATING, played_s=0.6)
    cut_off(world)
    at_s, answers = 2.0 + gap_s, 0
    for words in hesitations:
        item_id = world.begin_speaking(at_s)
        commands = world.feed(ev.InterruptionCandidate(at_s + 0.1))
        commands += world.pause(item_id, words, at_s + 0.2)
        commands += world.feed(ev.TurnEnded(at_s + 0.2))
        starts = of(do.StartResponse, commands)
        answers += len(starts)
        assert all(start.request.messages == (Message("user", "do you have a pool or"),) for start in starts)
        if starts:
            world.make("Yes, we have a pool.")
        at_s += 0.2 + gap_s
    assert answers <= 1


def test_words_after_a_hesitation_are_answered_with_the_turn():
    world = CallWorld(policy=HESITATING, played_s=0.6)
    cut_off(world)
    (start,) = of(do.StartResponse, go_on(world, "uh a sauna"))
    assert start.request.messages == (Message("user", "do you have a pool or uh a sauna"),)
