"""The callers' sound in windows, with the real model of voice activity."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest
from recordings import recorded
from sounds import voice_like

from audio.detection.front_end import MAX_WINDOWS, QUIET_WINDOWS, FrontEnd
from audio.detection.front_end_stream import MAX_PENDING_S, FrontEndStream, Window
from audio.detection.vad import SAMPLE_RATE_HZ, WINDOW_SAMPLES, SileroVad
from audio.endpoint import EndpointConfig, Endpointer
from audio.onnx.silero_graph import STATE
from audio.pcm import Samples
from audio.resample import resample
from audio.speech_events import (
    InterruptionCandidate,
    InterruptionConfirmed,
    SpeechPaused,
    SpeechStarted,
    TurnEnded,
    VoiceNoticed,
)

RNG = np.random.default_rng(7)


class CountingModel:
    """The real model, with a note of the rows of every run."""

    def __init__(self, model: SileroVad) -> None:
        self._model = model
        self.after_silence = model.after_silence
        self.rows: list[int] = []

    def load(self) -> None:
        pass

    def run(self, windows, states):
        self.rows.append(len(windows))
        return self._model.run(windows, states)


@pytest.fixture
def counting(vad_model) -> CountingModel:
    return CountingModel(vad_model)


def open_stream(front_end: FrontEnd, told: list[float], rate_hz: int = SAMPLE_RATE_HZ) -> FrontEndStream:
    """A stream that notes its probabilities."""
    return front_end.open(rate_hz, lambda window: told.append(window.probability))


def ignore(_: Window) -> None:
    """Nobody wants to know."""


async def judged(*told: list[float], windows: int) -> None:
    """Wait until each of the lists holds so many probabilities."""
    while not all(len(probabilities) >= windows for probabilities in told):  # noqa: ASYNC110  callbacks tell no end
        await asyncio.sleep(0.001)


async def alone(vad_model, sound) -> list[float]:
    """What the stream tells when no other is open."""
    told: list[float] = []
    open_stream(FrontEnd(vad_model), told).push(sound)
    await judged(told, windows=len(sound) // WINDOW_SAMPLES)
    return told


async def test_silence_is_improbable(vad_model):
    assert max(await alone(vad_model, np.zeros(60 * WINDOW_SAMPLES, np.int16))) < 0.1


async def test_noise_is_improbable(vad_model):
    noise = RNG.normal(0, 1_000, 60 * WINDOW_SAMPLES).astype(np.int16)
    assert max(await alone(vad_model, noise)) < 0.3


async def test_a_voice_is_probable_from_its_second_window_to_its_end(vad_model):
    silence = np.zeros(20 * WINDOW_SAMPLES, np.int16)
    told = await alone(vad_model, np.concatenate((silence, voice_like(60), silence)))
    assert max(told[:20]) < 0.1
    assert min(told[21:79]) > 0.4
    assert max(told[82:]) < 0.3


def new_endpointer() -> Endpointer:
    config = EndpointConfig(
        start_s=0.064, pause_s=0.032, interruption_candidate_s=0.096, interruption_confirmed_s=0.9
    )
    return Endpointer(config, threshold=0.5, silence_s=0.2)


async def test_the_endpointer_finds_a_voice_within_80_ms_of_where_it_is(vad_model):
    silence = np.zeros(20 * WINDOW_SAMPLES, np.int16)
    told = await alone(vad_model, np.concatenate((silence, voice_like(60), silence)))
    window_s = WINDOW_SAMPLES / SAMPLE_RATE_HZ
    endpointer = new_endpointer()
    events = [event for probability in told for event in endpointer.push(probability, window_s)]
    assert [type(event) for event in events] == [
        VoiceNoticed,
        SpeechStarted,
        InterruptionCandidate,
        InterruptionConfirmed,
        SpeechPaused,
        TurnEnded,
    ]
    assert abs(events[1].at_s - 20 * window_s) <= 0.08
    assert abs(events[-1].at_s - 80 * window_s) <= 0.08


async def test_every_window_is_reported_once_however_sound_is_cut(vad_model):
    sound = voice_like(30)
    whole = await alone(vad_model, sound)
    told: list[float] = []
    stream = open_stream(FrontEnd(vad_model), told)
    for piece in np.split(sound, np.sort(RNG.integers(0, len(sound), 40))):
        stream.push(piece)
        await asyncio.sleep(0)
    await judged(told, windows=30)
    assert told == whole


@pytest.mark.parametrize("rate_hz", [8_000, 16_000, 24_000, 48_000])
async def test_of_sound_that_waits_the_loudness_is_known_by_whole_windows(vad_model, rate_hz):
    stream = FrontEnd(vad_model).open(rate_hz, ignore)
    length = rate_hz * 8 // 1_000
    waiting = np.repeat(np.array([100, 200, 300], np.int16), length)
    stream.push(waiting)
    assert stream.energies(0.017) == pytest.approx([100**2, 200**2])
    assert stream.energies(0.007) == []
    stream.push(waiting)  # the sound that was looked at can grow on


async def test_less_than_a_window_is_kept_for_later(vad_model):
    told: list[float] = []
    stream = open_stream(FrontEnd(vad_model), told)
    stream.push(np.zeros(WINDOW_SAMPLES - 1, np.int16))
    await asyncio.sleep(0.02)
    assert told == []
    assert stream.pending_s == (WINDOW_SAMPLES - 1) / SAMPLE_RATE_HZ
    stream.push(np.zeros(1, np.int16))
    await judged(told, windows=1)
    assert stream.pending_s == 0


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
    assert max(counting.rows) == MAX_WINDOWS
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
    monkeypatch.setattr(loop, "call_later", lambda delay_s, _: delays.append(delay_s) or object())
    for stream in streams:
        stream.push(np.zeros(WINDOW_SAMPLES, np.int16))
    monkeypatch.undo()
    assert len(delays) == 1


async def test_a_window_after_a_while_without_any_waits_for_nobody(counting, monkeypatch):
    front_end = FrontEnd(counting)
    stream = front_end.open(SAMPLE_RATE_HZ, ignore)
    front_end.open(SAMPLE_RATE_HZ, ignore)
    monkeypatch.setattr(
        asyncio.get_running_loop(), "call_later", lambda *_: pytest.fail("it had to wait for a timer")
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


async def test_a_closed_stream_hears_nothing_more(vad_model):
    front_end = FrontEnd(vad_model)
    told: list[float] = []
    other: list[float] = []
    stream = open_stream(front_end, told)
    stream.push(np.zeros(2 * WINDOW_SAMPLES, np.int16))
    stream.close()
    stream.push(np.zeros(2 * WINDOW_SAMPLES, np.int16))
    open_stream(front_end, other).push(np.zeros(2 * WINDOW_SAMPLES, np.int16))
    await judged(other, windows=2)
    assert told == []


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


async def test_a_reset_stream_begins_as_if_new(vad_model):
    sound = voice_like(10)
    new = await alone(vad_model, sound)
    told: list[float] = []
    stream = open_stream(FrontEnd(vad_model), told)
    stream.push(voice_like(5, seed=3))
    await judged(told, windows=5)
    stream.push(np.ones(100, np.int16))
    stream.reset()
    stream.push(sound)
    await judged(told, windows=15)
    assert told[5:] == new


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


async def test_sound_too_far_ahead_of_the_model_is_refused(vad_model):
    stream = FrontEnd(vad_model).open(SAMPLE_RATE_HZ, ignore)
    stream.push(np.zeros(int(MAX_PENDING_S * SAMPLE_RATE_HZ), np.int16))
    with pytest.raises(BufferError, match=r"60\.0 s of sound wait to be judged"):
        stream.push(np.zeros(1, np.int16))
    stream.close()


RATES = (8_000, 16_000, 24_000, 48_000)


async def windows_of(front_end: FrontEnd, sounds: dict[int, Samples]) -> dict[int, list[Window]]:
    """What is told of sounds, by their rates, that come at the same time in frames of 20 ms."""
    told: dict[int, list[Window]] = {rate_hz: [] for rate_hz in sounds}
    streams = {rate_hz: front_end.open(rate_hz, told[rate_hz].append) for rate_hz in sounds}
    for frame in range(50):
        for rate_hz, sound in sounds.items():
            streams[rate_hz].push(sound[frame * rate_hz // 50 : (frame + 1) * rate_hz // 50])
        await asyncio.sleep(0)
    while any(stream.has_window for stream in streams.values()):  # noqa: ASYNC110  callbacks tell no end
        await asyncio.sleep(0.001)
    return told


@pytest.mark.parametrize("rate_hz", RATES)
async def test_windows_are_the_sound_that_the_rate_filter_makes(vad_model, rate_hz):
    sound = resample(voice_like(40), SAMPLE_RATE_HZ, rate_hz)
    told = (await windows_of(FrontEnd(vad_model), {rate_hz: sound}))[rate_hz]
    made = np.concatenate([window.sound for window in told])
    wanted = resample(sound, rate_hz, SAMPLE_RATE_HZ)[: len(made)]
    assert len(made) == 31 * WINDOW_SAMPLES
    assert np.abs(made.astype(int) - wanted).max() <= 1  # single precision


async def test_calls_of_several_rates_share_runs(vad_model):
    sounds = {rate_hz: resample(voice_like(40, rate_hz % 7), SAMPLE_RATE_HZ, rate_hz) for rate_hz in RATES}
    together = await windows_of(FrontEnd(vad_model), sounds)
    for rate_hz, sound in sounds.items():
        alone_told = (await windows_of(FrontEnd(vad_model), {rate_hz: sound}))[rate_hz]
        assert [window.probability for window in together[rate_hz]] == [w.probability for w in alone_told]
        for window, other in zip(together[rate_hz], alone_told, strict=True):
            assert np.array_equal(window.sound, other.sound)


async def test_a_window_tells_how_loud_its_quarters_are(vad_model):
    told: list[Window] = []
    sound = np.repeat(np.array([0, 100, 1_000, 10_000], np.int16), WINDOW_SAMPLES // 4)
    FrontEnd(vad_model).open(SAMPLE_RATE_HZ, told.append).push(sound)
    while not told:  # noqa: ASYNC110  callbacks tell no end
        await asyncio.sleep(0)
    assert told[0].energies == [0, 1e4, 1e6, 1e8]


async def test_a_stream_not_judged_takes_no_run_of_the_model(counting):
    front_end, told = FrontEnd(counting), []
    for judged in (False, True):
        stream = front_end.open(SAMPLE_RATE_HZ, told.append)
        stream.judged = judged
        stream.push(np.zeros(WINDOW_SAMPLES, np.int16))
    while len(told) < 2:  # noqa: ASYNC110  callbacks tell no end
        await asyncio.sleep(0.001)
    assert [window.probability is None for window in told] == [True, False]
    assert counting.rows == [1]


async def test_a_line_that_stays_silent_takes_no_run_of_the_model(counting):
    told: list[float] = []
    silence = np.zeros((QUIET_WINDOWS + 20) * WINDOW_SAMPLES, np.int16)
    open_stream(FrontEnd(counting), told).push(silence)
    await judged(told, windows=QUIET_WINDOWS + 20)
    assert sum(counting.rows) == QUIET_WINDOWS
    assert told[QUIET_WINDOWS:] == [0.0] * 20


async def test_faint_noise_is_judged_for_as_long_as_it_lasts(counting):
    told: list[float] = []
    noise = RNG.normal(0, 40, 100 * WINDOW_SAMPLES).astype(np.int16)
    open_stream(FrontEnd(counting), told).push(noise)
    await judged(told, windows=100)
    assert sum(counting.rows) == 100


@pytest.mark.parametrize("level", [1.0, 0.1])
@pytest.mark.parametrize("name", ["jfk.wav", "numbers.wav", "goforward.wav", "sb_spk1_snt1.wav"])
async def test_a_voice_after_skipped_silence_is_found_where_it_is(vad_model, name, level):
    voice = (recorded(name, SAMPLE_RATE_HZ)[: 4 * SAMPLE_RATE_HZ] * level).astype(np.int16)
    silence = np.zeros(3 * SAMPLE_RATE_HZ, np.int16)
    sound = np.concatenate((silence, voice, silence, voice, silence))
    told = await alone(vad_model, sound)
    windows = sound[: len(told) * WINDOW_SAMPLES].reshape(-1, WINDOW_SAMPLES) / np.float32(32_768)
    states, context, wanted = np.zeros((1, STATE), np.float32), np.zeros(64, np.float32), []
    for window in windows:
        heard = np.concatenate((context, window), dtype=np.float32)
        judgements, states = vad_model.run(heard[np.newaxis], states)
        context = window[-64:]
        wanted.append(float(judgements[0, 0]))
    found, expected = (turns(probabilities) for probabilities in (told, wanted))
    assert [type(event) for event in found] == [type(event) for event in expected]
    for event, other in zip(found, expected, strict=True):
        assert abs(event.at_s - other.at_s) <= 2 * WINDOW_SAMPLES / SAMPLE_RATE_HZ


def turns(probabilities: list[float]) -> list[SpeechStarted | TurnEnded]:
    """Where turns begin and end."""
    endpointer, window_s = new_endpointer(), WINDOW_SAMPLES / SAMPLE_RATE_HZ
    events = [event for probability in probabilities for event in endpointer.push(probability, window_s)]
    return [event for event in events if isinstance(event, SpeechStarted | TurnEnded)]


@pytest.mark.parametrize("rate_hz", RATES)
async def test_what_is_drained_goes_on_where_the_windows_ended(vad_model, rate_hz):
    sound = resample(voice_like(20), SAMPLE_RATE_HZ, rate_hz)
    told: list[Window] = []
    stream = FrontEnd(vad_model).open(rate_hz, told.append)
    stream.push(sound[: rate_hz // 10])
    while stream.has_window:  # noqa: ASYNC110  callbacks tell no end
        await asyncio.sleep(0.001)
    stream.push(sound[rate_hz // 10 :])
    rest = stream.drain()
    assert stream.pending_s == 0
    await asyncio.sleep(0.02)
    assert len(told) == 3  # nothing that was drained is told as well
    made = np.concatenate([*(window.sound for window in told), rest])
    wanted = resample(sound, rate_hz, SAMPLE_RATE_HZ)
    assert abs(len(made) - len(wanted)) <= 1
    inner = min(len(made), len(wanted)) - 64  # silence is taken to follow what is drained
    assert np.abs(made[:inner].astype(int) - wanted[:inner]).max() <= 1


@pytest.mark.parametrize("rate_hz", RATES)
def test_where_nothing_waits_nothing_is_drained(vad_model, rate_hz):
    assert len(FrontEnd(vad_model).open(rate_hz, ignore).drain()) == 0


async def test_a_stream_goes_on_at_another_rate(vad_model):
    told: list[Window] = []
    stream = FrontEnd(vad_model).open(24_000, told.append)
    stream.push(np.zeros(2_400, np.int16))
    stream.drain()
    stream.change_rate(8_000)
    stream.push(np.full(8_000 // 10, 1_000, np.int16))
    while stream.has_window:  # noqa: ASYNC110  callbacks tell no end
        await asyncio.sleep(0.001)
    assert [len(window.sound) for window in told] == [WINDOW_SAMPLES] * 3
    assert told[1].sound.min() >= 999


def test_a_rate_without_whole_windows_is_refused(vad_model):
    with pytest.raises(ValueError, match="22255 Hz"):
        FrontEnd(vad_model).open(22_255, ignore)


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
