"""A call without engines: does what a session would do with the conversation's commands, and watches that
they are lawful.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count

import numpy as np

from audio.synthesizers import Speech
from llmcore.engine import Usage
from voiceagent.conversation import commands as do
from voiceagent.conversation import events as ev
from voiceagent.conversation import notices as tell
from voiceagent.conversation.fragments import Fragment
from voiceagent.conversation.machine import Conversation
from voiceagent.conversation.settings import CallSettings
from voiceagent.conversation.turn_policy import TurnPolicy
from voiceagent.conversation.words import BACKCHANNELS, HUMS, STOP_WORDS, normalise

RATE_HZ = 1000
POLICY = TurnPolicy(
    backchannels=frozenset(normalise(phrase) for phrase in BACKCHANNELS["en"]),
    stop_words=frozenset(STOP_WORDS["en"]),
    hums=frozenset(HUMS["en"]),
)


@dataclass
class CallWorld:
    """Feeds events, keeps the commands, and answers those that a session must answer at once."""

    settings: CallSettings = field(default_factory=CallSettings)
    policy: TurnPolicy = POLICY
    heard_s: float = 0.0
    usage: Usage = field(default_factory=lambda: Usage(10, 0, 5))
    commands: list[do.Command] = field(default_factory=list)
    recognizing: set[str] = field(default_factory=set)
    flushes: dict[str, int] = field(default_factory=dict)
    working: dict[str, do.ReplyPlan] = field(default_factory=dict)
    provisional: set[str] = field(default_factory=set)
    begun: list[str] = field(default_factory=list)
    ended: list[str] = field(default_factory=list)
    played_s: dict[str, float] = field(default_factory=dict)
    finished: set[str] = field(default_factory=set)
    stopped: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        numbers = count(1)
        self.conversation = Conversation(
            self.settings, self.policy, RATE_HZ, lambda prefix: f"{prefix}_{next(numbers)}"
        )

    def feed(self, event: ev.Event) -> list[do.Command]:
        """Take one event in, and everything that must follow at once; returns the commands of all of it."""
        commands = self.conversation.handle(event)
        result = list(commands)
        for command in commands:
            self.commands.append(command)
            result += self._watch(command)
        return result

    def _watch(self, command: do.Command) -> list[do.Command]:
        match command:
            case do.StartRecognition(item_id):
                assert item_id not in self.recognizing
                self.recognizing.add(item_id)
                self.flushes[item_id] = 0
            case do.FlushRecognition(item_id):
                assert item_id in self.recognizing, "a flush for a turn that is not recognized"
                self.flushes[item_id] += 1
            case do.StopRecognition(item_id):
                self.recognizing.discard(item_id)
                self.flushes.pop(item_id, None)
            case do.StartReply(plan, _, provisional):
                assert not self.live(), "two replies at once"
                self.working[plan.reply_id] = plan
                if provisional:
                    self.provisional.add(plan.reply_id)
            case do.ReleaseReply(reply_id):
                assert reply_id in self.provisional and reply_id in self.working
                self.provisional.remove(reply_id)
            case do.CancelReply(reply_id):
                self.working.pop(reply_id, None)
                self.provisional.discard(reply_id)
            case do.Play(reply_id, speech):
                self.assert_audible(reply_id)
                self.played_s[reply_id] = self.played_s.get(reply_id, 0.0) + len(speech.samples) / RATE_HZ
            case do.FinishPlayout(reply_id):
                self.assert_audible(reply_id)
                self.finished.add(reply_id)
                self.working.pop(reply_id, None)
            case do.StopPlayout(reply_id):
                assert reply_id not in self.provisional
                self.stopped.add(reply_id)
                heard_s = min(self.heard_s, self.played_s.get(reply_id, 0.0))
                return self.feed(ev.PlayoutStopped(reply_id, heard_s))
            case do.Apologise(reply_id):
                return self._apologise(reply_id)
            case tell.TellReplyStarted(reply_id):
                assert reply_id not in self.provisional, "a provisional reply was told"
                assert set(self.begun) == set(self.ended), "a reply began before the one before it ended"
                self.begun.append(reply_id)
            case tell.TellReplyText(reply_id) | tell.TellToolCall(reply_id):
                self.assert_audible(reply_id)
            case tell.TellReplyEnded(reply_id):
                assert reply_id in self.begun and reply_id not in self.ended
                self.ended.append(reply_id)
                self.working.pop(reply_id, None)
            case _:
                pass
        return []

    def live(self) -> set[str]:
        """Replies that are being made, or that have begun and not ended."""
        return set(self.working) | (set(self.begun) - set(self.ended))

    def assert_audible(self, reply_id: str) -> None:
        """The reply has begun, has not ended and was not stopped."""
        assert reply_id in self.begun and reply_id not in self.ended and reply_id not in self.stopped

    def _apologise(self, reply_id: str) -> list[do.Command]:
        commands = self.feed(ev.FragmentReady(reply_id, fragment("Sorry.")))
        commands += self.feed(ev.SpeechReady(reply_id, speech(0.5)))
        commands += self.feed(ev.FragmentSpoken(reply_id))
        return commands + self.feed(ev.ReplyGenerated(reply_id, "stop", Usage()))

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

    def reply_id(self) -> str:
        """The id of the reply that is being made or played."""
        (reply_id,) = self.live()
        return reply_id

    def make(self, *texts: str, seconds: float = 1.0) -> str:
        """The engines make a whole reply of these fragments, each with `seconds` of sound."""
        reply_id = self.reply_id()
        for text in texts:
            self.feed(ev.FragmentReady(reply_id, fragment(text)))
            self.feed(ev.SpeechReady(reply_id, speech(seconds)))
            self.feed(ev.FragmentSpoken(reply_id))
        self.feed(ev.ReplyGenerated(reply_id, "stop", self.usage))
        return reply_id

    def play_out(self, reply_id: str) -> list[do.Command]:
        """All the reply's sound is sent and heard."""
        return self.feed(ev.PlayoutSent(reply_id)) + self.feed(ev.PlayoutHeard(reply_id))


def fragment(text: str) -> Fragment:
    """A fragment that is spoken as it is written."""
    starts = [i for i, c in enumerate(text) if c != " " and (i == 0 or text[i - 1] == " ")]
    return Fragment(text, text, tuple((i, i) for i in starts))


def speech(seconds: float) -> Speech:
    """Silence of this length."""
    return Speech(np.zeros(round(seconds * RATE_HZ), np.int16))
