"""The history against the sound itself: every word's samples carry its number, so what was played proves
what was heard.
"""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from call_world import RATE_HZ, CallWorld

from audio.playout import Playout
from audio.synthesizers import Speech, WordTiming
from llmcore.engine import Usage
from voiceagent.conversation import commands as do
from voiceagent.conversation import events as ev
from voiceagent.conversation.fragments import Fragment
from voiceagent.conversation.history import MessageItem

FRAME_S = 0.02
INTERRUPTIONS = 200
VOCABULARY = [
    "the",
    "room",
    "has",
    "a",
    "wide",
    "bed",
    "and",
    "two",
    "lamps",
    "near",
    "a",
    "window",
    "that",
    "opens",
    "on",
    "an",
    "old",
    "garden",
    "with",
    "seven",
    "trees",
]


class FarEnd:
    """Plays its frames in order, from the first one on, and records them."""

    def __init__(self) -> None:
        self.plays: list[tuple[float, np.ndarray]] = []
        self._free_s = 0.0

    def get(self, frame: np.ndarray, now_s: float) -> None:
        begins_s = max(self._free_s, now_s)
        self.plays.append((begins_s, frame))
        self._free_s = begins_s + FRAME_S

    def words_played(self, now_s: float) -> set[int]:
        """Numbers of the words of which at least one sample was played before `now_s`."""
        played = [
            frame[: max(0, round((now_s - begins_s) * RATE_HZ))]
            for begins_s, frame in self.plays
            if begins_s < now_s
        ]
        return {int(number) for number in np.unique(np.concatenate([*played, np.zeros(1)]))} - {0}


class PlayedWorld(CallWorld):
    """A call whose playout is the real one, in simulated time."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.now_s = 0.0
        self.playout = Playout(RATE_HZ, FRAME_S, lead_s=0.06)
        self.far_end = FarEnd()

    def watch(self, command: do.Command) -> list[do.Command]:
        if isinstance(command, do.Play):
            self.playout.queue(command.speech.samples)
        elif isinstance(command, do.FinishPlayout):
            self.playout.finish()
        elif isinstance(command, do.StopPlayout):
            self.played_s = self.playout.stop(self.now_s)
        return super().watch(command)

    def run(self, until_s: float) -> None:
        while self.now_s < until_s:
            for frame in self.playout.due(self.now_s):
                self.far_end.get(frame, self.now_s)
            self.now_s += 0.005


def numbered_response(random: Random, timed: bool) -> list[tuple[Fragment, Speech]]:
    """Fragments whose n-th word of all, counted from 1, sounds as samples of the value n."""
    number, fragments = 0, []
    for _ in range(random.randint(1, 4)):
        words = [random.choice(VOCABULARY) for _ in range(random.randint(2, 9))]
        text = " ".join(words) + ". "
        starts = [sum(len(word) + 1 for word in words[:index]) for index in range(len(words))]
        sounds, timings = [], []
        for start, word in zip(starts, words, strict=True):
            number += 1
            timings.append(WordTiming(start, sum(len(sound) for sound in sounds)))
            length = random.randint(80, 600) if timed else 70 * (len(word) + 1)
            sounds.append(np.full(length, number, np.int16))
        fragment = Fragment(text, text, tuple((start, start) for start in starts))
        fragments.append((fragment, Speech(np.concatenate(sounds), tuple(timings) if timed else ())))
    return fragments


def interrupt_somewhere(seed: int, timed: bool) -> tuple[str, list[str], set[int]]:
    """One response, cut at a random time: what the history holds, all its words, the numbers of those that
    were played.
    """
    random = Random(seed)
    world = PlayedWorld()
    world.say("tell me about the room")
    response_id = world.response_id()
    response = numbered_response(random, timed)
    for fragment, speech in response:
        world.feed(ev.FragmentReady(response_id, fragment))
        world.feed(ev.SpeechReady(response_id, speech))
        world.feed(ev.FragmentSpoken(response_id))
    world.feed(ev.ResponseGenerated(response_id, "stop", Usage()))
    whole_s = sum(len(speech.samples) for _, speech in response) / RATE_HZ
    world.run(random.uniform(0.0, whole_s))
    world.feed(ev.SpeechStarted(9.0))
    world.feed(ev.InterruptionConfirmed(9.0))
    (item,) = [item for item in world.conversation.history.items if getattr(item, "role", "") == "assistant"]
    assert isinstance(item, MessageItem)
    words = [word for fragment, _ in response for word in fragment.text.split()]
    return item.text, words, world.far_end.words_played(world.now_s)


@pytest.mark.parametrize("timed", [True, False], ids=["word timings", "proportional"])
def test_the_history_holds_the_words_that_were_played_and_no_other(timed: bool):
    for seed in range(INTERRUPTIONS):
        kept, words, played = interrupt_somewhere(seed, timed)
        kept_words = kept.split()
        assert kept_words == words[: len(kept_words)], "a word that is not the response's, or one left out"
        assert abs(len(kept_words) - len(played)) <= 1, f"seed {seed}: more than the word at the cut differs"
