"""Calls that share the runs of the model of voice activity: the real one."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest
from front_end_calls import alone, ignore, judged, open_stream
from sounds import voice_like

from audio.detection.front_end import MAX_JUDGED, MAX_WINDOWS, FrontEnd
from audio.detection.front_end_stream import Window
from audio.detection.vad import SAMPLE_RATE_HZ, WINDOW_SAMPLES, SileroVad


async def test_calls_share_runs_and_hear_what_they_would_hear_alone(vad_model, counting):
    sounds = [voice_like(12, seed) for seed in range(5)]
    expected = [await alone(vad_model, sound) for sound in sounds]
    front_end = FrontEnd(counting)
    told: list[list[float]] = [[] for _ in sounds]
    streams = [open_stream(front_end, probabilities) for probabilities in told]
    for stream, sound in zip(streams, sounds, strict=True):
        stream.push(sound)
    await judged(*told, windows=12)
    assert told == expected
    assert counting.rows == [5] * 12


async def test_a_run_is_bounded_however_many_calls_wait(counting):
    front_end = FrontEnd(counting)
    told: list[list[float]] = [[] for _ in range(MAX_WINDOWS + 5)]
    for probabilities in told:
        open_stream(front_end, probabilities).push(np.zeros(2 * WINDOW_SAMPLES, np.int16))
    await judged(*told, windows=2)
    assert max(counting.rows) == MAX_JUDGED
    assert sum(counting.rows) == 2 * (MAX_WINDOWS + 5)


async def test_calls_without_a_window_cost_no_run_and_no_timer(counting, monkeypatch):
    front_end = FrontEnd(counting)
    streams = [front_end.open(SAMPLE_RATE_HZ, ignore) for _ in range(3)]
    loop = asyncio.get_running_loop()
    monkeypatch.setattr(loop, "call_later", lambda *_: pytest.fail("a timer was armed"))
    monkeypatch.setattr(loop, "call_soon", lambda *_: pytest.fail("a tick was armed"))
    for stream in streams:
        stream.push(np.zeros(WINDOW_SAMPLES - 1, np.int16))
    monkeypatch.undo()
    assert counting.rows == []


async def test_windows_of_calls_soon_after_each_other_share_a_run(counting):
    front_end = FrontEnd(counting, tick_s=0.05)
    told: list[list[float]] = [[] for _ in range(4)]
    streams = [open_stream(front_end, probabilities) for probabilities in told]
    streams[0].push(np.zeros(WINDOW_SAMPLES, np.int16))
    await judged(told[0], windows=1)
    for stream in streams[1:]:
        stream.push(np.zeros(WINDOW_SAMPLES, np.int16))
        await asyncio.sleep(0.001)
    await judged(*told, windows=1)
    assert counting.rows == [1, 3]


async def test_a_tick_is_armed_once_for_all_calls(counting, monkeypatch):
    front_end = FrontEnd(counting, tick_s=60.0)
    told: list[float] = []
    open_stream(front_end, told).push(np.zeros(WINDOW_SAMPLES, np.int16))
    await judged(told, windows=1)
    streams = [front_end.open(SAMPLE_RATE_HZ, ignore) for _ in range(3)]
    loop = asyncio.get_running_loop()
    delays: list[float] = []
    monkeypatch.setattr(loop, "call_later", lambda delay_s, _, context: delays.append(delay_s) or object())
    for stream in streams:
        stream.push(np.zeros(WINDOW_SAMPLES, np.int16))
    monkeypatch.undo()
    assert len(delays) == 1


async def test_a_window_after_a_while_without_any_waits_for_nobody(counting, monkeypatch):
    front_end = FrontEnd(counting)
    stream = front_end.open(SAMPLE_RATE_HZ, ignore)
    front_end.open(SAMPLE_RATE_HZ, ignore)
    monkeypatch.setattr(
        asyncio.get_running_loop(), "call_later", lambda *_, **__: pytest.fail("it had to wait for a timer")
    )
    stream.push(np.zeros(WINDOW_SAMPLES, np.int16))
    await asyncio.sleep(0)
    monkeypatch.undo()
    assert counting.rows == [1]


async def test_a_callback_that_fails_is_reported_and_hurts_no_other_call(vad_model):
    reported: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context["exception"]))
    failure = RuntimeError("the callback broke")

    def broken(_: Window) -> None:
        raise failure

    front_end = FrontEnd(vad_model)
    told: list[float] = []
    for stream in (front_end.open(SAMPLE_RATE_HZ, broken), open_stream(front_end, told)):
        stream.push(np.zeros(3 * WINDOW_SAMPLES, np.int16))
    await judged(told, windows=3)
    assert reported == [failure] * 3


async def test_a_model_that_fails_is_told_to_every_stream_of_the_batch() -> None:
    class Broken(SileroVad):
        whole = True

        def run(self, inputs, states):
            if not self.whole:
                raise ZeroDivisionError("of the model")
            return super().run(inputs, states)

    model = Broken()
    front_end = FrontEnd(model, tick_s=0.0)
    front_end.start()
    model.whole = False
    failures: asyncio.Queue[Exception] = asyncio.Queue()
    for _ in range(2):
        stream = front_end.open(SAMPLE_RATE_HZ, lambda window: None, failures.put_nowait)
        stream.push(np.full(WINDOW_SAMPLES, 9_000, np.int16))
    assert [str(await failures.get()) for _ in range(2)] == ["of the model"] * 2


async def test_a_call_remembers_nothing_of_the_closed_one_whose_place_it_has(vad_model):
    sound = voice_like(10)
    new = await alone(vad_model, sound)
    front_end = FrontEnd(vad_model)
    before: list[float] = []
    first = open_stream(front_end, before)
    first.push(voice_like(5, seed=3))
    await judged(before, windows=5)
    first.close()
    told: list[float] = []
    second = open_stream(front_end, told)
    assert second.slot == first.slot
    second.push(sound)
    await judged(told, windows=10)
    assert told == new


async def test_a_call_too_many_moves_no_state_of_the_others(vad_model):
    sound = voice_like(10)
    new = await alone(vad_model, sound)
    front_end = FrontEnd(vad_model)
    told: list[float] = []
    stream = open_stream(front_end, told)
    stream.push(sound[: 5 * WINDOW_SAMPLES])
    await judged(told, windows=5)
    others = [front_end.open(SAMPLE_RATE_HZ, ignore) for _ in range(100)]
    stream.push(sound[5 * WINDOW_SAMPLES :])
    await judged(told, windows=10)
    assert told == new
    assert len({stream.slot, *(other.slot for other in others)}) == 101


async def test_a_stream_closed_during_the_run_is_not_reported(vad_model):
    front_end = FrontEnd(vad_model)
    told: list[float] = []
    first: list[float] = []

    def close_second(window: Window) -> None:
        first.append(window.probability)
        second.close()

    front_end.open(SAMPLE_RATE_HZ, close_second).push(np.zeros(WINDOW_SAMPLES, np.int16))
    second = open_stream(front_end, told)
    second.push(np.zeros(WINDOW_SAMPLES, np.int16))
    await judged(first, windows=1)
    assert told == []


async def test_a_stream_not_judged_takes_no_run_of_the_model(counting):
    front_end, told = FrontEnd(counting), []
    for is_judged in (False, True):
        stream = front_end.open(SAMPLE_RATE_HZ, told.append)
        stream.judged = is_judged
        stream.push(np.zeros(WINDOW_SAMPLES, np.int16))
    while len(told) < 2:  # noqa: ASYNC110  callbacks tell no end
        await asyncio.sleep(0.001)
    assert [window.probability is None for window in told] == [True, False]
    assert counting.rows == [1]
