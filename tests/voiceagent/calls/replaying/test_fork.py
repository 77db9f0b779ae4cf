"""Counterfactuals: a logged call continues under other settings."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from call_settings import call_settings, turn_detection
from call_world import POLICY, RATE_HZ, CallWorld, fragment, of, speech
from logged_call import log_of

from audio.synthesizers import Speech
from llmcore.engine import Tool, ToolCall, Usage
from voiceagent.calls.log.entries import CallEnded, Header, Record
from voiceagent.calls.log.event_log import CallLog, LogWriter, read_log
from voiceagent.calls.replaying.answers import Answers, Counts
from voiceagent.calls.replaying.fork import fork
from voiceagent.calls.replaying.forked import Change, Forked, logged_steps
from voiceagent.calls.replaying.outline import OutlinedTurn, outline, totals
from voiceagent.calls.replaying.recorded_answers import DelayedEvents, RecordedAnswers
from voiceagent.calls.replaying.replay import CannotReplay
from voiceagent.calls.replaying.virtual_speaker import VirtualSpeaker
from voiceagent.calls.replaying.voice import CallersVoice
from voiceagent.conversation import commands as do
from voiceagent.conversation import events as ev
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.config import TurnConfig
from voiceagent.conversation.end_of_turn.llm_end import LlmEnd
from voiceagent.conversation.history import MessageItem
from voiceagent.conversation.machine import Conversation
from voiceagent.conversation.settings import AgentTool, CallSettings

BEGAN_S = 100.0
WHOLE, HALF = "I would like a room", "I would like"
ENDPOINT = TurnConfig().to_endpointing()


class TimedCall:
    """A call whose events come at given times, which is logged."""

    def __init__(self, silence_s: float) -> None:
        self.settings = call_settings(turn_detection=turn_detection(silence_s=silence_s))
        self._made: list[str] = []
        self._conversation = Conversation(self.settings, POLICY, RATE_HZ, self._new_id)
        writer = LogWriter()
        self._writer = writer
        self.lines = [
            writer.header(Header("call_1", 0.0, BEGAN_S, self.settings, POLICY, RATE_HZ, {"voiceagent": "0"}))
        ]
        self._count = 0

    def _new_id(self, prefix: str) -> str:
        self._count += 1
        self._made.append(f"{prefix}_{self._count}")
        return self._made[-1]

    def at(self, at_s: float, event: ev.Event) -> list[do.Command]:
        self._made = []
        commands = self._conversation.handle(event)
        record = Record(len(self.lines), BEGAN_S + at_s, at_s, event, tuple(self._made), commands)
        self.lines.append(self._writer.entry(record))
        return commands

    def answer(self, at_s: float, response_id: str, text: str) -> None:
        """An engine's whole answer, with a second of sound."""
        self.at(at_s, ev.FragmentReady(response_id, fragment(text)))
        self.at(at_s + 0.05, ev.SpeechReady(response_id, speech(1.0)))
        self.at(at_s + 0.05, ev.FragmentSpoken(response_id))
        self.at(at_s + 0.05, ev.ResponseGenerated(response_id, "stop", Usage(10, 0, 5)))

    def log(self) -> CallLog:
        ended = self._writer.entry(CallEnded("done", BEGAN_S + 10.0))
        return read_log(b"".join([*self.lines, ended]))


def response_of(commands: list[do.Command]) -> str:
    return next(c.response_id for c in commands if isinstance(c, do.StartResponse))


def patient_call() -> CallLog:
    """A caller pauses for 0.4 s in the middle of what he wants; half a second ends a turn."""
    call = TimedCall(silence_s=0.5)
    call.at(0.0, ev.CallStarted())
    item_id = next(
        c.item_id for c in call.at(1.1, ev.SpeechStarted(1.0)) if isinstance(c, do.StartRecognition)
    )
    call.at(2.05, ev.SpeechPaused(2.0))
    call.at(2.1, ev.TranscriptChanged(item_id, HALF, HALF, settled=True))
    call.at(2.45, ev.SpeechResumed(2.4))
    call.at(3.05, ev.SpeechPaused(3.0))
    settled = ev.TranscriptChanged(item_id, WHOLE, WHOLE, settled=True, confidence=0.8, complete=0.9)
    response_id = response_of(call.at(3.1, settled))
    call.answer(3.2, response_id, "Of course.")
    call.at(3.5, ev.TurnEnded(3.0))
    call.at(4.45, ev.PlayoutSent(response_id))
    call.at(4.5, ev.PlayoutPlayed(response_id))
    call.at(8.0, ev.KeyPressed("1", 8))
    return call.log()


def forked(log: CallLog, silence_s: float, since: int = 1, live: Live | None = None) -> Forked:
    detection = turn_detection(silence_s=silence_s)
    return fork(
        log,
        Change(since, lambda s: replace(s, turn_detection=detection), log.header.policy, ENDPOINT, 1.5),
        live,
    )


class Live:
    """Engines that answer at once, by what they are asked; `asked` has all questions."""

    hears = True

    def __init__(self) -> None:
        self.asked: list[str] = []

    def heard(self) -> list[str]:
        return [asked for asked in self.asked if not asked.startswith("respond")]

    def response(self, start: do.StartResponse) -> DelayedEvents:
        self.asked.append(f"respond to {start.request.messages[-1].content}")
        return [
            (0.1, ev.FragmentReady(start.response_id, fragment("Live."))),
            (0.2, ev.SpeechReady(start.response_id, speech(1.0))),
            (0.2, ev.FragmentSpoken(start.response_id)),
            (0.2, ev.ResponseGenerated(start.response_id, "stop", Usage(10, 0, 5))),
        ]

    def summary(self, wanted: do.Summarise) -> DelayedEvents:
        return []

    def review(self, wanted: do.ReviewResponse) -> DelayedEvents:
        self.asked.append(f"respond: review {wanted.said}")
        return [(0.1, ev.ResponseReviewed(wanted.response_id, "RIGHT"))]

    def turn_end(self, asked: do.AskTurnEnd) -> DelayedEvents:
        return [(0.1, ev.TurnEndScored(asked.item_id, asked.words, -1.0))]

    def begin_turn(self, item_id: str, at_s: float) -> None:
        self.asked.append(f"recognize from {at_s}")

    def hear(self, item_id: str, received_s: float, until_s: float) -> DelayedEvents:
        self.asked.append(f"hear until {until_s}")
        return [(0.1, ev.TranscriptChanged(item_id, "a", "a"))]

    def settle(self, item_id: str, received_s: float, number: bool) -> DelayedEvents:
        return [(0.05, ev.TranscriptChanged(item_id, "a room", "a room", settled=True))]

    def end_turn(self, item_id: str) -> None:
        self.asked.append("end")

    def judge(self, item_id: str, received_s: float) -> DelayedEvents:
        return []


def unchanged(settings: CallSettings) -> CallSettings:
    return settings


def words(turns: list[OutlinedTurn]) -> list[tuple[str, str, str]]:
    return [(turn.said, turn.answered, turn.outcome) for turn in turns]


class SlowLive(Live):
    """Engines of which the LLM has no words for four seconds."""

    def response(self, start: do.StartResponse) -> DelayedEvents:
        return [(4.0 + after_s, event) for after_s, event in super().response(start)]


def test_under_the_same_settings_the_call_is_as_it_was():
    log = patient_call()
    same = forked(log, 0.5)
    (was,), (would_be,) = outline(logged_steps(log)), outline(same.steps)
    assert words([would_be]) == words([was]) == [(WHOLE, "Of course.", "completed")]
    assert would_be.waited_s == pytest.approx(was.waited_s, abs=0.04)
    assert same.counts == Counts(same=1, nearest=1)  # that of the first pause was cancelled


def test_words_are_heard_again_as_surely_and_as_complete():
    events = [step.event for step in forked(patient_call(), 0.8).steps]
    heard = [event for event in events if isinstance(event, ev.TranscriptChanged)]
    assert (heard[-1].text, heard[-1].confidence, heard[-1].complete) == (WHOLE, 0.8, 0.9)


def test_a_shorter_silence_ends_the_turn_in_its_pause():
    turns = outline(forked(patient_call(), 0.2).steps)
    assert turns[0].said == HALF
    assert turns[0].outcome == "cut off"
    assert totals(turns).cut_off == 1


def test_a_longer_silence_makes_the_caller_wait():
    log = patient_call()
    (was,), (would_be,) = outline(logged_steps(log)), outline(forked(log, 0.8).steps)
    assert would_be.said == was.said
    assert would_be.waited_s - was.waited_s == pytest.approx(0.3, abs=0.05)


def test_before_the_change_all_is_as_in_the_log():
    log = patient_call()
    since = 6  # the caller has gone on
    steps = forked(log, 0.2, since).steps
    assert [step.commands for step in steps[: since - 1]] == [r.commands for r in log.records[: since - 1]]
    (turn,) = outline(steps)
    assert turn.said == WHOLE


def test_settings_that_a_client_asks_for_are_changed_too():
    call = TimedCall(silence_s=0.5)
    call.at(0.0, ev.CallStarted())
    call.at(0.1, ev.SettingsChanged(call.settings))
    call.at(1.1, ev.SpeechStarted(1.0))
    call.at(2.05, ev.SpeechPaused(2.0))
    call.at(2.6, ev.TurnEnded(2.0))
    call.at(8.0, ev.KeyPressed("1", 8))
    ended = [step for step in forked(call.log(), 0.2).steps if isinstance(step.event, ev.TurnEnded)]
    assert ended[0].clock_s - BEGAN_S == pytest.approx(2.25, abs=0.05)


def test_an_event_that_is_not_there_is_refused():
    with pytest.raises(CannotReplay, match="no event 99"):
        forked(patient_call(), 0.2, 99)


def test_filler_comes_as_early_as_the_settings_of_the_call_demand() -> None:
    def fillers(by_s: float | None) -> int:
        log = patient_call()
        llm = frozenset({"llm"})
        change = Change(1, lambda s: replace(s, filler_by_s=by_s), log.header.policy, ENDPOINT, 30.0, llm)
        return sum(isinstance(step.event, ev.ResponseLate) for step in fork(log, change, SlowLive()).steps)

    assert (fillers(None), fillers(1.0)) == (0, 1)


def test_a_policy_without_preemptive_responses_is_slower():
    log = patient_call()
    policy = replace(POLICY, preemptive_attempts=0)
    would_be = fork(log, Change(1, unchanged, policy, ENDPOINT, 1.5))
    (was,), (turn,) = outline(logged_steps(log)), outline(would_be.steps)
    assert words([turn]) == words([was])
    assert turn.waited_s > was.waited_s


def test_what_was_asked_in_the_call_too_is_not_asked_again():
    live = Live()
    same = forked(patient_call(), 0.8, live=live)
    assert same.counts.same == 1
    assert [turn.answered for turn in outline(same.steps)] == ["Of course."]
    assert not [asked for asked in live.asked if WHOLE in asked]


def test_sound_that_is_cut_otherwise_and_its_answers_come_from_live_engines():
    live = Live()
    cut = forked(patient_call(), 0.2, live=live)
    first, second = outline(cut.steps)
    assert (first.said, first.answered) == (HALF, "Live.")
    assert (second.said, second.answered) == ("a room", "Of course.")  # to both together, as in the call
    assert live.heard() == ["recognize from 2.4", "hear until 3.05", "end"]
    assert cut.counts.heard == 1
    assert cut.counts.nearest == 0


def test_a_turn_that_is_two_of_the_call_is_recognized_as_one():
    call = TimedCall(silence_s=0.2)
    call.at(0.0, ev.CallStarted())
    for begin_s, said in ((1.0, HALF), (2.4, "a room")):
        commands = call.at(begin_s + 0.1, ev.SpeechStarted(begin_s))
        item_id = next(c.item_id for c in commands if isinstance(c, do.StartRecognition))
        call.at(begin_s + 0.65, ev.SpeechPaused(begin_s + 0.6))
        call.at(begin_s + 0.7, ev.TranscriptChanged(item_id, said, said, settled=True))
        call.at(begin_s + 0.8, ev.TurnEnded(begin_s + 0.6))
    call.at(9.0, ev.KeyPressed("1", 8))
    live = Live()
    (turn,) = outline(forked(call.log(), 1.2, live=live).steps)
    assert turn.spoke_until_s == 3.0
    assert turn.answered == "Live."
    assert live.heard() == ["recognize from 1.0", "hear until 3.05", "end"]


def test_a_candidate_that_is_loud_in_its_pause_is_one_again():
    voice = CallersVoice(patient_call(), ENDPOINT)
    candidate = ev.InterruptionCandidate(1.2)
    assert voice.translate(candidate, 1.3) is None
    voice.apply(ev.SpeechStarted(1.0), 1.1)
    voice.apply(ev.SpeechPaused(1.2), 1.25)
    assert voice.translate(candidate, 1.3) == candidate
    assert voice.translate(candidate, 1.4) is None


def test_another_engine_is_asked_everything_again():
    log = patient_call()
    change = Change(1, unchanged, log.header.policy, ENDPOINT, 1.5, frozenset({"llm"}))
    anew = fork(log, change, Live())
    assert [turn.answered for turn in outline(anew.steps)] == ["Live."]
    assert anew.counts.same == 0


def tool_call(arguments: str) -> CallLog:
    """The agent has a tool, which the model calls; it takes a second."""
    call = TimedCall(silence_s=0.5)
    tool = AgentTool(Tool("free_rooms", "Which are free.", {"type": "object"}))
    call.at(0.0, ev.AgentChanged("", (tool,)))
    call.at(0.1, ev.CallStarted())
    call.at(0.5, ev.ItemCreated(MessageItem("item_typed", "user", WHOLE)))
    response_id = response_of(call.at(0.6, ev.ResponseRequested()))
    call.at(0.7, ev.ToolCallsReady(response_id, (ToolCall("call_1", "free_rooms", arguments),)))
    call.at(0.8, ev.ResponseGenerated(response_id, "tool_calls", Usage()))
    call.at(0.8, ev.PlayoutSent(response_id))
    call.at(0.8, ev.PlayoutPlayed(response_id))
    call.answer(1.8, response_of(call.at(1.7, ev.ToolFinished("call_1", "done", "two"))), "Two.")
    call.at(9.0, ev.KeyPressed("1", 8))
    return call.log()


def test_a_tool_that_was_called_so_has_its_result_again_and_no_tool_runs():
    log = tool_call("{}")
    policy = replace(POLICY, preemptive_attempts=0)
    steps = fork(log, Change(1, unchanged, policy, ENDPOINT, 1.5), Live()).steps
    (finished,) = [step for step in steps if isinstance(step.event, ev.ToolFinished)]
    assert finished.event == ev.ToolFinished("call_1", "done", "two")
    assert finished.clock_s - BEGAN_S == pytest.approx(1.7)


def test_a_tool_that_was_never_called_so_is_told_as_not_done():
    answers = RecordedAnswers(tool_call("{}"))
    ((_, event),) = answers.tool(ToolCall("call_2", "free_rooms", '{"day": 1}'), BEGAN_S)
    assert isinstance(event, ev.ToolFinished)
    assert (event.call_id, event.outcome) == ("call_2", "failed")
    assert "no tool is run" in event.output


def test_the_llms_word_on_an_end_is_that_of_the_call_or_of_live_engines():
    semantic = call_settings(turn_detection=turn_detection(kind="semantic_vad"))
    world = CallWorld(semantic, replace(POLICY, llm_end=LlmEnd(1.0, 0.0, 1.0)))
    item_id = world.begin_speaking()
    (asked,) = of(do.AskTurnEnd, world.pause(item_id, WHOLE))
    world.feed(ev.TurnEndScored(item_id, WHOLE, -0.5))
    log = read_log(log_of(world))
    of_the_call = [(0.5, ev.TurnEndScored("other", WHOLE, -0.5))]
    assert Answers(log, None, frozenset()).turn_end(replace(asked, item_id="other")) == of_the_call
    assert Answers(log, None, frozenset()).turn_end(replace(asked, words=HALF)) == []
    live = Answers(log, Live(), frozenset({"llm"})).turn_end(asked)
    assert live == [(0.1, ev.TurnEndScored(item_id, WHOLE, -1.0))]


def test_what_was_held_for_a_response_without_a_sound_does_not_silence_the_next_one():
    speaker = VirtualSpeaker(24_000)
    for command in (
        do.HoldPlayout(),
        notify.NotifyResponseEnded("resp_1", "cancelled", "turn_detected"),
        do.Play("resp_2", Speech(np.zeros(480, np.int16))),
        do.FinishPlayout("resp_2"),
    ):
        speaker.execute(command)
    assert ev.PlayoutSent("resp_2") in speaker.pump(1.0)


def test_review_is_that_of_the_call_or_of_live_engines():
    log, live = patient_call(), Live()
    answers = Answers(log, live, frozenset())
    wanted = do.ReviewResponse("resp_1", "Of course.")
    assert answers.review(wanted) == [(0.1, ev.ResponseReviewed("resp_1", "RIGHT"))]
    assert Answers(log, None, frozenset()).review(wanted) == [(0.0, ev.ResponseReviewed("resp_1", None))]
    call = TimedCall(0.5)
    call.lines.append(
        LogWriter().entry(
            Record(1, BEGAN_S, 0.0, ev.CallStarted(), (), [do.ReviewResponse("old", "Of course.")])
        )
    )
    call.at(2.0, ev.ResponseReviewed("old", "WRONG: No."))
    ((after_s, event),) = Answers(call.log(), live, frozenset()).review(wanted)
    assert after_s > 0 and event == ev.ResponseReviewed("resp_1", "WRONG: No.")


def handed_over(during_the_tool: bool = True) -> CallLog:
    """A tool hands the call over to billing, which greets the caller; or the agent's code does so later."""
    call = TimedCall(silence_s=0.5)
    tools = (AgentTool(Tool("to_billing", "Hand the call over.", {"type": "object"})),)
    actions = (ev.AgentChanged("Billing", (), "You are billing."), ev.SpeechRequested("This is billing."))
    call.at(0.0, ev.AgentChanged("Desk", tools, "You are the desk."))
    call.at(0.1, ev.CallStarted())
    call.at(0.5, ev.ItemCreated(MessageItem("item_typed", "user", WHOLE)))
    response_id = response_of(call.at(0.6, ev.ResponseRequested()))
    call.at(0.7, ev.ToolCallsReady(response_id, (ToolCall("call_1", "to_billing", "{}"),)))
    call.at(0.8, ev.ResponseGenerated(response_id, "tool_calls", Usage()))
    call.at(0.8, ev.PlayoutSent(response_id))
    call.at(0.8, ev.PlayoutPlayed(response_id))
    finished = ev.ToolFinished("call_1", "done", "billing has the call", reply=False)
    for event in (*actions, finished) if during_the_tool else (finished, *actions):
        call.at(1.3, event)
    call.at(9.0, ev.KeyPressed("1", 8))
    return call.log()


ACTIONS = ev.AgentChanged | ev.SpeechRequested


def actions_in(forked: Forked) -> list[tuple[float, str]]:
    """Return the second and the kind of what the agent's code did after the beginning of the call."""
    return [
        (round(step.clock_s - BEGAN_S, 3), type(step.event).__name__)
        for step in forked.steps
        if isinstance(step.event, ACTIONS) and step.clock_s > BEGAN_S
    ]


def test_what_a_tool_did_does_not_happen_if_the_tool_is_not_called() -> None:
    log = handed_over()
    change = Change(1, unchanged, log.header.policy, ENDPOINT, 1.5, frozenset({"llm"}))
    assert actions_in(fork(log, change, Live())) == []


def test_what_a_tool_did_happens_when_the_tool_runs() -> None:
    log = handed_over()
    at_once = fork(log, Change(1, unchanged, POLICY, ENDPOINT, 1.5))
    assert actions_in(at_once) == [(1.3, "AgentChanged"), (1.3, "SpeechRequested")]


def test_what_a_tool_did_happens_if_it_runs_at_the_fork() -> None:
    log = handed_over()
    running = next(record.number for record in log.records if isinstance(record.event, ev.PlayoutPlayed))
    kept = fork(log, Change(running + 1, unchanged, POLICY, ENDPOINT, 1.5))
    assert actions_in(kept) == [(1.3, "AgentChanged"), (1.3, "SpeechRequested")]


def test_what_the_agents_code_did_without_a_tool_happens_as_in_the_call() -> None:
    log = handed_over(during_the_tool=False)
    change = Change(1, unchanged, log.header.policy, ENDPOINT, 1.5, frozenset({"llm"}))
    assert actions_in(fork(log, change, Live())) == [(1.3, "AgentChanged"), (1.3, "SpeechRequested")]


def test_the_language_of_a_call_is_set_again() -> None:
    call = TimedCall(silence_s=0.5)
    call.at(0.1, ev.CallStarted())
    call.at(0.5, ev.LanguageSet("de"))
    call.at(9.0, ev.KeyPressed("1", 8))
    steps = fork(call.log(), Change(1, unchanged, POLICY, ENDPOINT, 1.5)).steps
    assert ev.LanguageSet("de") in [step.event for step in steps]
