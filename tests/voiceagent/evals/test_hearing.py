"""Callers that hear by a recognizer: the audio that reaches it, and the lines that follow from its words."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from audio.pcm import Samples
from audio.recognizers import SAMPLE_RATE_HZ, Flush, Hypothesis, RecognizerError
from voiceagent.config.tables import load
from voiceagent.evals.callable_agent import callable_agent
from voiceagent.evals.delivery import RATE_HZ
from voiceagent.evals.hearing import Hearing, PlayedSound
from voiceagent.evals.record import CallRecord, Said
from voiceagent.evals.report import print_results
from voiceagent.evals.results import Results, run_of
from voiceagent.evals.runs import run_once
from voiceagent.evals.scenario import EvalFile, Scenario, Times
from voiceagent.evals.virtual_engines import EngineThread
from voiceagent.evals.virtual_time import run_virtually

CONFIG = """
[agent]
instructions = "You sell pizza."
[recognizer]
engine = "people.offline:NoWords"
[llm]
engine = "voiceagent.testing:RehearsedModel"
script = [["What size should they be?"], ["Fine."]]
[synthesizer]
engine = "espeak"
"""
FRAME = np.full(480, 5_000, np.int16)
FRAME_S = len(FRAME) / RATE_HZ
needs_espeak = pytest.mark.skipif(find_spec("espeakng_loader") is None, reason="make install")


class Listener:
    """A recognizer of fixed words that counts what it gets."""

    words = "what sighs should they be"
    heard_s: list[float]

    def __init__(self) -> None:
        self.heard_s = []

    async def start(self) -> None:
        """Do nothing."""

    async def close(self) -> None:
        """Do nothing."""

    async def recognize(self, sound: AsyncIterator[Samples | Flush]) -> AsyncGenerator[Hypothesis, None]:
        samples = [len(piece) async for piece in sound if not isinstance(piece, Flush)]
        self.heard_s.append(sum(samples) / SAMPLE_RATE_HZ)
        yield Hypothesis(self.words, self.words, settled=True)


class Deaf(Listener):
    """A recognizer that fails."""

    async def recognize(self, sound: AsyncIterator[Samples | Flush]) -> AsyncGenerator[Hypothesis, None]:
        raise RecognizerError("no ears")
        yield  # a generator


def played(*begins_s: float) -> PlayedSound:
    sound = PlayedSound()
    for begin_s in begins_s:
        sound.play(FRAME, begin_s)
    return sound


def test_audio_that_was_played_is_taken_once() -> None:
    sound = played(1.0, 1.0 + FRAME_S, 5.0)
    assert [len(one) for one in sound.take(2.0)] == [2 * len(FRAME)]
    assert [len(one) for one in sound.take(6.0)] == [len(FRAME)]
    assert sound.take(6.0) == []


def test_a_pause_divides_utterances() -> None:
    assert [len(one) for one in played(1.0, 1.1, 2.0).take(3.0)] == [2 * len(FRAME), len(FRAME)]


def test_audio_that_was_withdrawn_and_silence_are_not_heard() -> None:
    sound = played(1.0, 2.0, 3.0)
    sound.clear(1.5)
    sound.play(np.zeros(480, np.int16), 2.5)
    assert [len(one) for one in sound.take(9.0)] == [len(FRAME)]


def test_the_same_audio_is_recognized_once() -> None:
    recognizer = Listener()

    async def run() -> list[str]:
        with EngineThread() as thread:
            hearing = Hearing(recognizer, thread)
            return [await hearing.words([FRAME]), await hearing.words([FRAME, FRAME + 1])]

    assert run_virtually(run()) == [Listener.words, f"{Listener.words} {Listener.words}"]
    assert recognizer.heard_s == pytest.approx([FRAME_S, FRAME_S], abs=0.001)


def call(tmp_path: Path, engine: type[Listener] | None, to: str) -> Any:
    """Return a run by sound of a caller who answers `to`."""
    path = tmp_path / "shop.toml"
    path.write_text(CONFIG)
    replies = [{"to": [to], "say": "Large."}]
    scenario = Scenario.of("order", {"script": ["Two pizzas, please.", "Goodbye."], "replies": replies})
    recognizer = None if engine is None else {"engine": f"{__name__}:{engine.__name__}"}
    times = Times(recognition_s=0.05, first_token_s=0.2, first_audio_s=0.1)
    settings = EvalFile.model_validate({"times": times, "recognizer": recognizer})

    async def run() -> Any:
        async with callable_agent(load(path), settings, tmp_path, typed=False) as agent:
            return await run_once(agent, scenario, 1)

    return run_virtually(run(), 0.05)


def lines(run: Any) -> list[str]:
    return [one["text"] for one in run.call["said"] if one["role"] == "caller"]


@needs_espeak
def test_the_caller_answers_what_the_recognizer_understood(tmp_path: Path) -> None:
    run = call(tmp_path, Listener, "what sighs")
    assert lines(run) == ["Two pizzas, please.", "Large.", "Goodbye."]
    assert run.call["heard"][:2] == ["", Listener.words]


@needs_espeak
def test_a_misheard_word_of_four_is_understood(tmp_path: Path) -> None:
    assert "Large." in lines(call(tmp_path, Listener, "what size should they"))
    assert "Large." not in lines(call(tmp_path, Listener, "what size"))


@needs_espeak
def test_a_caller_without_a_recognizer_reads(tmp_path: Path) -> None:
    run = call(tmp_path, None, "what size")
    assert "Large." in lines(run)
    assert run.call["heard"] == []


@needs_espeak
def test_a_run_with_a_recognizer_that_fails_has_failed(tmp_path: Path) -> None:
    run = call(tmp_path, Deaf, "size")
    assert [one.reason for one in run.failures] == ["the call could not be made: no ears"]


def test_words_that_callers_misheard_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    said = (Said("caller", "Hi."), Said("agent", "What size should they be?"))
    heard = CallRecord(said, heard=("", "what sighs should they be"))
    print_results(Results("some.toml", (run_of("a", 1, heard, []),)))
    assert "an error rate of 20.0% (5 words)" in capsys.readouterr().out
    print_results(Results("some.toml", (run_of("a", 1, CallRecord(said), []),)))
    assert "error rate" not in capsys.readouterr().out
