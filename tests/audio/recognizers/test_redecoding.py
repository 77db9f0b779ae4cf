from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable
from threading import Event, get_native_id

import numpy as np
import pytest
import pytest_asyncio

from audio.pcm import Samples
from audio.recognizers import Flush, Hypothesis
from audio.recognizers.decoding.growing_window import Segment
from audio.recognizers.redecoding import RedecodingRecognizer

STEP = 4_800
"""Samples that make a new decoding worthwhile."""


class HeldModel:
    """Decodes nothing until it is let go on. begun: who is decoded, by the first sample of the sound.
    numbers: whether a number was expected then. ending: of every text.
    """

    def __init__(self) -> None:
        self.begun: list[int] = []
        self.numbers: list[bool] = []
        self.go_on = Event()
        self.ending = ""

    def open(self) -> HeldModel:
        return self

    def __call__(self, sound: Samples, before: str, abandoned: Event, flush: Flush | None) -> list[Segment]:
        if sound.any():  # and not the warm-up
            self.begun.append(int(sound[0]))
            self.numbers.append(flush is not None and flush.number)
            self.go_on.wait()
        return [Segment(f"caller {sound[0]}{self.ending}", len(sound) / 16_000)]


class Utterance:
    """One caller's utterance and its transcripts."""

    def __init__(self, recognizer: RedecodingRecognizer, caller: int) -> None:
        self._caller = caller
        self._sound: asyncio.Queue[Samples | Flush] = asyncio.Queue()
        self._hypotheses = recognizer.recognize(self._said())

    def speaks(self, steps: int = 1) -> None:
        self._sound.put_nowait(np.full(steps * STEP, self._caller, np.int16))

    def begins_again(self) -> asyncio.Task[Hypothesis]:
        """Says too little to be decoded, after a pause; returns what is understood next."""
        self._sound.put_nowait(np.full(STEP // 3, self._caller, np.int16))
        return self.understood()

    def falls_silent(self, number: bool = False) -> None:
        self._sound.put_nowait(Flush(number))

    def has_been_silent(self) -> None:
        """For 0.2 s, of which the recognizer hears the last 0.1 now."""
        self._sound.put_nowait(np.zeros(1_600, np.int16))
        self._sound.put_nowait(Flush(silence_s=0.2))

    def understood(self) -> asyncio.Task[Hypothesis]:
        return asyncio.ensure_future(anext(self._hypotheses))

    async def _said(self) -> AsyncIterator[Samples | Flush]:
        while True:
            yield await self._sound.get()


Then = Callable[[Utterance], None]


async def recognizer_of(model: HeldModel, workers: int) -> RedecodingRecognizer:
    recognizer = RedecodingRecognizer("held", lambda: model, STEP / 16_000, 10.0, workers)
    await recognizer.start()
    return recognizer


@pytest_asyncio.fixture(name="model")
async def held_model() -> AsyncIterator[HeldModel]:
    model = HeldModel()
    yield model
    model.go_on.set()


async def until_begun(model: HeldModel, count: int) -> None:
    while len(model.begun) < count:  # noqa: ASYNC110  a thread says so
        await asyncio.sleep(0.001)
    # what else would begin begins now
    await asyncio.sleep(0.02)


Partial = asyncio.Task[Hypothesis]


async def two_speak_and_a_third_falls_silent(
    recognizer: RedecodingRecognizer, model: HeldModel
) -> tuple[list[Utterance], list[Partial], Partial]:
    """Callers 1 and 2, what is made of their words so far, and of all that caller 3 said."""
    speaking, partials = [Utterance(recognizer, caller) for caller in (1, 2)], []
    for utterance in speaking:
        utterance.speaks()
        partials.append(utterance.understood())
        await until_begun(model, 1)
    silent = Utterance(recognizer, 3)
    silent.speaks()
    silent.falls_silent()
    return speaking, partials, silent.understood()


async def test_who_has_fallen_silent_waits_behind_nobody_who_still_speaks(model: HeldModel) -> None:
    recognizer = await recognizer_of(model, workers=1)
    (_, other), partials, settled = await two_speak_and_a_third_falls_silent(recognizer, model)
    await asyncio.sleep(0.02)
    model.go_on.set()
    assert (await settled).text == "caller 3"
    assert model.begun == [1, 3]
    other.falls_silent()
    assert (await partials[1]).text == "caller 2"
    await recognizer.close()


async def test_of_several_workers_one_is_kept_for_those_who_have_fallen_silent(model: HeldModel) -> None:
    recognizer = await recognizer_of(model, workers=2)
    (_, other), partials, settled = await two_speak_and_a_third_falls_silent(recognizer, model)
    await until_begun(model, 2)
    assert model.begun == [1, 3]
    model.go_on.set()
    assert (await settled).settled
    other.falls_silent()
    assert (await partials[1]).settled
    await recognizer.close()


class PatientModel(HeldModel):
    """Decodes until it is told to stop. abandoned: samples of the decodings that were stopped."""

    def __init__(self) -> None:
        super().__init__()
        self.abandoned: list[int] = []

    def __call__(self, sound: Samples, before: str, abandoned: Event, flush: Flush | None) -> list[Segment]:
        if sound.any() and not self.abandoned:
            self.begun.append(int(sound[0]))
            abandoned.wait()
            self.abandoned.append(len(sound))
        return [Segment(f"{len(sound)} samples", len(sound) / 16_000)]


async def test_words_on_their_way_are_abandoned_for_settled_ones_which_are_of_all_the_sound() -> None:
    model = PatientModel()
    recognizer = await recognizer_of(model, workers=1)
    caller = Utterance(recognizer, 1)
    caller.speaks()
    first = caller.understood()
    await until_begun(model, 1)
    caller.speaks()
    caller.falls_silent()
    hypothesis = await first
    assert (hypothesis.text, hypothesis.settled) == (f"{2 * STEP} samples", True)
    assert model.abandoned == [STEP]
    await recognizer.close()


async def first_told(caller: Utterance, model: HeldModel, steps: int, then: Then) -> asyncio.Task[Hypothesis]:
    """Return the first hypothesis of a caller who speaks, and run `then` once it is decoded."""
    caller.speaks(steps)
    first = caller.understood()
    await until_begun(model, 1)
    then(caller)
    await asyncio.sleep(0.02)
    return first


async def test_words_on_their_way_are_abandoned_where_a_number_is_asked_for() -> None:
    model = PatientModel()
    recognizer = await recognizer_of(model, workers=1)
    first = await first_told(
        Utterance(recognizer, 1), model, 1, lambda caller: caller.falls_silent(number=True)
    )
    assert (await first).settled
    assert model.abandoned == [STEP]
    await recognizer.close()


@pytest.mark.parametrize("then", [Utterance.falls_silent, Utterance.has_been_silent])
async def test_words_on_their_way_of_all_that_was_said_are_the_settled_ones(
    model: HeldModel, then: Then
) -> None:
    model.ending = "."
    recognizer = await recognizer_of(model, workers=1)
    caller = Utterance(recognizer, 1)
    on_its_way = await first_told(caller, model, 7, then)
    model.go_on.set()
    assert not (await on_its_way).settled
    hypothesis = await caller.understood()
    assert (hypothesis.text, hypothesis.settled) == ("caller 1.", True)
    assert model.begun == [1]
    await recognizer.close()


async def test_where_callers_share_a_worker_words_on_their_way_are_abandoned_though_silence_followed() -> (
    None
):
    model = PatientModel()
    recognizer = await recognizer_of(model, workers=1)
    caller, other = Utterance(recognizer, 1), Utterance(recognizer, 2)
    other.falls_silent()
    assert (await other.understood()).settled
    next_words = other.begins_again()
    first = await first_told(caller, model, 7, Utterance.has_been_silent)
    assert (await first).settled
    assert model.abandoned == [7 * STEP]
    next_words.cancel()
    await recognizer.close()


async def test_behind_a_comma_the_silence_is_heard_as_it_may_make_it_a_stop(model: HeldModel) -> None:
    model.ending = ","
    model.go_on.set()
    recognizer = await recognizer_of(model, workers=1)
    caller = Utterance(recognizer, 1)
    caller.speaks(steps=7)
    assert not (await caller.understood()).settled
    caller.has_been_silent()
    assert (await caller.understood()).settled
    assert model.begun == [1, 1]
    await recognizer.close()


async def test_where_a_number_is_expected_words_on_their_way_are_not_the_settled_ones(
    model: HeldModel,
) -> None:
    model.go_on.set()
    recognizer = await recognizer_of(model, workers=1)
    caller = Utterance(recognizer, 1)
    caller.speaks()
    assert not (await caller.understood()).settled
    caller.falls_silent(number=True)
    assert (await caller.understood()).settled
    assert model.numbers == [False, True]
    await recognizer.close()


async def test_of_more_utterances_than_workers_each_is_decoded_less_often(model: HeldModel) -> None:
    model.go_on.set()
    recognizer = await recognizer_of(model, workers=1)
    one, other = (Utterance(recognizer, caller) for caller in (1, 2))
    other.falls_silent()
    assert (await other.understood()).settled
    next_words = other.begins_again()
    one.speaks()
    on_its_way = one.understood()
    await asyncio.sleep(0.02)
    assert model.begun == []
    one.speaks()
    assert not (await on_its_way).settled
    next_words.cancel()
    await recognizer.close()


async def test_utterance_in_a_pause_slows_no_other_down(model: HeldModel) -> None:
    model.go_on.set()
    recognizer = await recognizer_of(model, workers=1)
    one, paused = (Utterance(recognizer, caller) for caller in (1, 2))
    paused.falls_silent()
    assert (await paused.understood()).settled
    next_words = paused.understood()
    one.speaks()
    assert not (await one.understood()).settled
    next_words.cancel()
    await recognizer.close()


class NicenessModel(HeldModel):
    """Reports the niceness of the thread that decodes."""

    def __call__(self, sound: Samples, before: str, abandoned: Event, flush: Flush | None) -> list[Segment]:
        return [Segment(f"{os.getpriority(os.PRIO_PROCESS, get_native_id())}", len(sound) / 16_000)]


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere threads have no niceness")
async def test_words_on_their_way_are_decoded_in_a_thread_that_yields_to_others() -> None:
    recognizer = await recognizer_of(NicenessModel(), workers=1)
    caller = Utterance(recognizer, 1)
    caller.speaks()
    on_its_way = await caller.understood()
    caller.speaks()
    caller.falls_silent()
    settled = await caller.understood()
    assert int(on_its_way.text) > int(settled.text) == os.getpriority(os.PRIO_PROCESS, 0)
    await recognizer.close()
