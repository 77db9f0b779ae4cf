"""Second opinions of a better model on utterances that are over."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event

import numpy as np
import pytest
from sounds import chunks, recognized

from audio.pcm import Samples
from audio.recognizers import SAMPLE_RATE_HZ, ExpectedSpeech, Flush, Hypothesis
from audio.recognizers.decoding.growing_window import Segment
from audio.recognizers.redecoding import RedecodingRecognizer
from audio.recognizers.second_opinion import WholeUtterance, is_doubtful, preferred

SECOND_S = np.full(SAMPLE_RATE_HZ, 7, np.int16)


class Model:
    """Understands the same words whatever is said. heard: seconds of each decoding."""

    def __init__(self, words: str, confidence: float = 0.5) -> None:
        self.words, self.confidence = words, confidence
        self.heard: list[float] = []

    def open(self) -> Callable[[Samples, str, Event, Flush | None], list[Segment]]:
        return self.decode

    def open_in(self, expected: ExpectedSpeech) -> Callable[..., list[Segment]]:
        return self.decode

    def decode(self, sound: Samples, before: str, abandoned: Event, flush: Flush | None) -> list[Segment]:
        seconds = len(sound) / SAMPLE_RATE_HZ
        self.heard.append(seconds)
        return [Segment(self.words, seconds, self.confidence)]


async def hypotheses(first: Model, second: Model | None, *said: Samples | Flush) -> list[Hypothesis]:
    load_second = None if second is None else lambda: second
    recognizer = RedecodingRecognizer("tested", lambda: first, 0.3, 10.0, 1, load_second)
    await recognizer.start()
    try:
        return await recognized(recognizer, chunks(*said))
    finally:
        await recognizer.close()


async def test_last_hypothesis_is_the_second_model_s() -> None:
    second = Model("a pool")
    found = await hypotheses(Model("a pull"), second, SECOND_S, Flush(), SECOND_S, Flush())
    assert [one.text for one in found if one.settled] == ["a pull", "a pull", "a pool"]
    assert second.heard == [2.0]


async def test_sure_transcripts_get_no_second_opinion() -> None:
    second = Model("a pool")
    found = await hypotheses(Model("a pull", confidence=0.95), second, SECOND_S, Flush())
    assert found[-1].text == "a pull"
    assert second.heard == []


@pytest.mark.parametrize("asked", [Flush(number=True), Flush(spelling="letters")])
async def test_numbers_and_spellings_keep_the_words_that_a_grammar_found(asked: Flush) -> None:
    second = Model("four")
    found = await hypotheses(Model("for"), second, SECOND_S, asked)
    assert found[-1].text == "for"
    assert second.heard == []


async def test_without_a_second_model_the_last_hypothesis_is_the_first_one_s() -> None:
    assert (await hypotheses(Model("a pull"), None, SECOND_S, Flush()))[-1].text == "a pull"


def test_silence_and_loops_leave_the_first_transcript() -> None:
    assert preferred("um", []) == "um"
    assert preferred("um", [Segment("m" * 300, 1.0)]) == "um"
    assert (
        preferred("a pull", [Segment("Do you have", 1.0), Segment("a pool?", 2.0)]) == "Do you have a pool?"
    )


def test_utterances_of_more_than_a_minute_are_not_kept() -> None:
    whole = WholeUtterance()
    for _ in range(61):
        whole.push(SECOND_S)
    assert not len(whole.sound)


def test_transcripts_without_words_are_not_doubtful() -> None:
    assert not is_doubtful(Hypothesis("", confidence=0.1))
    assert is_doubtful(Hypothesis("a pull"))
