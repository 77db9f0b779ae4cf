"""What would have been: a call that was logged goes on under other settings."""

from __future__ import annotations

from dataclasses import replace

import pytest
from call_settings import call_settings, turn_detection
from call_world import POLICY, RATE_HZ, fragment, speech

from llmcore.engine import Usage
from voiceagent.calls.log.event_log import CallEnded, CallLog, Header, LogWriter, Record, read_log
from voiceagent.calls.log.outline import OutlinedTurn, outline, totals
from voiceagent.calls.replaying.fork import Change, Forked, fork, logged_steps
from voiceagent.calls.replaying.replay import CannotReplay
from voiceagent.conversation import commands as do
from voiceagent.conversation import events as ev
from voiceagent.conversation.machine import Conversation

BEGAN_S = 100.0
WHOLE, HALF = "I would like a room", "I would like"


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
    response_id = response_of(call.at(3.1, ev.TranscriptChanged(item_id, WHOLE, WHOLE, settled=True)))
    call.answer(3.2, response_id, "Of course.")
    call.at(3.5, ev.TurnEnded(3.0))
    call.at(4.45, ev.PlayoutSent(response_id))
    call.at(4.5, ev.PlayoutPlayed(response_id))
    call.at(8.0, ev.KeyPressed("1", 8))
    return call.log()


def forked(log: CallLog, silence_s: float, since: int = 1) -> Forked:
    detection = turn_detection(silence_s=silence_s)
    settings = replace(log.header.settings, turn_detection=detection)
    return fork(log, Change(since, settings, log.header.policy, 0.032, 1.5))


def words(turns: list[OutlinedTurn]) -> list[tuple[str, str, str]]:
    return [(turn.said, turn.answered, turn.outcome) for turn in turns]


def test_under_the_same_settings_the_call_is_as_it_was():
    log = patient_call()
    same = forked(log, 0.5)
    (was,), (would_be,) = outline(logged_steps(log)), outline(same.steps)
    assert words([would_be]) == words([was]) == [(WHOLE, "Of course.", "completed")]
    assert would_be.waited_s == pytest.approx(was.waited_s, abs=0.04)
    assert (same.same, same.other) == (1, 1)  # that of the first pause was cancelled


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


def test_an_event_that_is_not_there_is_refused():
    with pytest.raises(CannotReplay, match="no event 99"):
        forked(patient_call(), 0.2, 99)


def test_a_policy_without_preemptive_responses_is_slower():
    log = patient_call()
    policy = replace(POLICY, preemptive_attempts=0)
    would_be = fork(log, Change(1, log.header.settings, policy, 0.032, 1.5))
    (was,), (turn,) = outline(logged_steps(log)), outline(would_be.steps)
    assert words([turn]) == words([was])
    assert turn.waited_s > was.waited_s
