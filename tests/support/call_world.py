"""A call without engines: does what a session would do with the conversation's commands, and watches that
they are lawful.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any, NamedTuple

import numpy as np
from call_settings import call_settings

from audio.synthesizers import Speech
from llmcore.compression.history_budget import HistoryBudget
from llmcore.engine import Usage
from voiceagent.conversation import commands as do
from voiceagent.conversation import events as ev
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.agent_config import AgentConfig
from voiceagent.conversation.config import HistoryConfig, TurnConfig
from voiceagent.conversation.fragments import Fragment
from voiceagent.conversation.machine import Conversation
from voiceagent.conversation.prompting.items import to_messages
from voiceagent.conversation.settings import CallSettings
from voiceagent.conversation.turn_policy import TurnPolicy

RATE_HZ = 1000
POLICY = replace(
    TurnConfig().to_policy(AgentConfig(), HistoryConfig()),
    prefill_while_speaking=False,
    language="",
    history=HistoryBudget(),
)


class Step(NamedTuple):
    """One event, the ids that were made and the commands that came of it."""

    event: ev.Event
    ids: tuple[str, ...]
    commands: tuple[do.Command, ...]


@dataclass
class CallWorld:
    """Feeds events, keeps the commands, and answers those that a session must answer at once."""

    settings: CallSettings = field(default_factory=call_settings)
    policy: TurnPolicy = POLICY
    played_s: float = 0.0
    usage: Usage = field(default_factory=lambda: Usage(10, 0, 5))
    commands: list[do.Command] = field(default_factory=list)
    recognizing: set[str] = field(default_factory=set)
    flushes: dict[str, int] = field(default_factory=dict)
    working: dict[str, do.StartResponse] = field(default_factory=dict)
    preemptive: set[str] = field(default_factory=set)
    out_of_band: set[str] = field(default_factory=set)
    begun: list[str] = field(default_factory=list)
    ended: list[str] = field(default_factory=list)
    ordered_s: dict[str, float] = field(default_factory=dict)
    finished: set[str] = field(default_factory=set)
    stopped: set[str] = field(default_factory=set)
    reviewing: set[str] = field(default_factory=set)
    steps: list[Step] = field(default_factory=list)

    def __post_init__(self) -> None:
        numbers = count(1)

        def new_id(prefix: str) -> str:
            self._made.append(f"{prefix}_{next(numbers)}")
            return self._made[-1]

        self._made: list[str] = []
        self.conversation = Conversation(self.settings, self.policy, RATE_HZ, new_id)

    def feed(self, event: ev.Event) -> list[do.Command]:
        """Take one event in, and everything that must follow at once; returns the commands of all of it."""
        self._made = []
        commands = self.conversation.handle(event)
        self.steps.append(Step(event, tuple(self._made), tuple(commands)))
        result = list(commands)
        for command in commands:
            self.commands.append(command)
            self._watch_review(command)
            result += self.watch(command)
        return result

    def watch(self, command: do.Command) -> list[do.Command]:
        match command:
            case do.StartRecognition(item_id) | do.RecognizeItem(item_id):
                self._begin_recognition(item_id)
            case do.FlushRecognition(item_id):
                assert item_id in self.recognizing, "a flush for a turn that is not recognized"
                self.flushes[item_id] += 1
            case do.StopRecognition(item_id):
                self.recognizing.discard(item_id)
                self.flushes.pop(item_id, None)
            case do.StartResponse(response_id=response_id):
                others = self.preemptive if command.preemptive else self.live()
                assert command.out_of_band or not others, "two responses at once"
                if command.out_of_band:
                    self.out_of_band.add(response_id)
                self.working[response_id] = command
                if command.preemptive:
                    self.preemptive.add(response_id)
            case do.ReleaseResponse(response_id):
                assert response_id in self.preemptive and response_id in self.working
                self.preemptive.remove(response_id)
            case do.CancelResponse(response_id):
                self.working.pop(response_id, None)
                self.preemptive.discard(response_id)
            case do.Play(response_id, speech):
                self.assert_audible(response_id)
                self.ordered_s[response_id] = (
                    self.ordered_s.get(response_id, 0.0) + len(speech.samples) / RATE_HZ
                )
            case do.PlayClip(response_id):
                self._begin_clip(response_id)
            case do.FinishPlayout(response_id):
                self.assert_audible(response_id)
                self.finished.add(response_id)
                self.working.pop(response_id, None)
            case do.StopPlayout(response_id):
                assert response_id not in self.preemptive
                self.stopped.add(response_id)
                played_s = min(self.played_s, self.ordered_s.get(response_id, 0.0))
                return self.feed(ev.PlayoutStopped(response_id, played_s))
            case do.Apologise(response_id):
                return self._apologise(response_id)
            case notify.NotifyResponseStarted(response_id):
                assert response_id not in self.preemptive, "a preemptive response was told"
                self.begun.append(response_id)
                assert command.out_of_band or self.live() == {response_id}, "the one before it has not ended"
            case notify.NotifyResponseText(response_id) | notify.NotifyToolCall(response_id):
                self.assert_audible(response_id)
            case notify.NotifyResponseEnded(response_id) | notify.NotifyClipEnded(response_id):
                assert response_id in self.begun and response_id not in self.ended
                self.ended.append(response_id)
                self.working.pop(response_id, None)
            case _:
                pass
        return []

    def _begin_recognition(self, item_id: str) -> None:
        assert item_id not in self.recognizing
        self.recognizing.add(item_id)
        self.flushes[item_id] = 0

    def _watch_review(self, command: do.Command) -> None:
        if isinstance(command, do.CancelReview):
            self.reviewing.remove(command.response_id)
        elif isinstance(command, do.ReviewResponse):
            assert not self.reviewing, "two reviews at once"
            self.assert_audible(command.response_id)
            self.reviewing.add(command.response_id)

    def _begin_clip(self, response_id: str) -> None:
        assert not self.live(), "a clip over a response"
        self.begun.append(response_id)

    def live(self) -> set[str]:
        """The conversation's responses that are being made, or that have begun and not ended."""
        return (set(self.working) | (set(self.begun) - set(self.ended))) - self.out_of_band

    def assert_audible(self, response_id: str) -> None:
        """The response has begun, has not ended and was not stopped."""
        assert response_id in self.begun and response_id not in self.ended and response_id not in self.stopped

    def _apologise(self, response_id: str) -> list[do.Command]:
        commands = self.feed(ev.FragmentReady(response_id, fragment("Sorry."), apology=True))
        commands += self.feed(ev.SpeechReady(response_id, speech(0.5)))
        commands += self.feed(ev.FragmentSpoken(response_id))
        return commands + self.feed(ev.ResponseGenerated(response_id, "stop", Usage()))

    # ---- what people and engines do

    def begin_speaking(self, at_s: float = 1.0) -> str:
        """The caller begins to speak; returns the item of the turn."""
        commands = self.feed(ev.SpeechStarted(at_s))
        return next(c.item_id for c in commands if isinstance(c, do.StartRecognition))

    def pause(self, item_id: str, words: str, at_s: float = 2.0) -> list[do.Command]:
        """The caller falls silent, and the recognizer answers the flush."""
        return self.feed(ev.SpeechPaused(at_s)) + self.feed(ev.TranscriptChanged(item_id, words, words, True))

    def say(self, words: str, at_s: float = 1.0) -> list[do.Command]:
        """A whole turn of the caller, its words settled before its end is decided."""
        item_id = self.begin_speaking(at_s)
        commands = self.pause(item_id, words, at_s + 1)
        return commands + self.feed(ev.TurnEnded(at_s + 1))

    def next_prompt(self) -> list[tuple[str, str]]:
        """Return the prompt of the answer to another turn of the caller, as roles and texts."""
        (start,) = of(do.StartResponse, self.say("and how much is it", 20.0))
        return [(message.role, message.content) for message in start.request.messages]

    def response_id(self) -> str:
        """Return the id of the response being made or played; a preemptive one only if there is no other."""
        (response_id,) = self.live() - self.preemptive or self.live()
        return response_id

    def make(self, *texts: str, seconds: float = 1.0, opaque: str = "") -> str:
        """Make a whole response of these fragments, each with `seconds` of audio.

        opaque: the LLM server's own data about it.
        """
        response_id = self.response_id()
        for text in texts:
            self.feed(ev.FragmentReady(response_id, fragment(text)))
            self.feed(ev.SpeechReady(response_id, speech(seconds)))
            self.feed(ev.FragmentSpoken(response_id))
        self.feed(ev.ResponseGenerated(response_id, "stop", self.usage, opaque))
        return response_id

    def review(self, reply: str | None) -> list[do.Command]:
        """The back LLM replies to the review in progress; None if it fails."""
        return self.feed(ev.ResponseReviewed(self.reviewing.pop(), reply))

    def play_out(self, response_id: str) -> list[do.Command]:
        """All the response's sound is sent and heard."""
        return self.feed(ev.PlayoutSent(response_id)) + self.feed(ev.PlayoutPlayed(response_id))


def of(kind: type, commands: list[do.Command]) -> list[Any]:
    """The commands of one kind."""
    return [command for command in commands if isinstance(command, kind)]


def said(world: CallWorld) -> list[tuple[str, str]]:
    """Return speaker and text of each turn in the history."""
    return [(message.role, message.content) for message in to_messages(world.conversation.history.items)]


def fragment(text: str) -> Fragment:
    """A fragment that is spoken as it is written."""
    starts = [i for i, c in enumerate(text) if c != " " and (i == 0 or text[i - 1] == " ")]
    return Fragment(text, text, tuple((i, i) for i in starts))


def speech(seconds: float) -> Speech:
    """Silence of this length."""
    return Speech(np.zeros(round(seconds * RATE_HZ), np.int16))
