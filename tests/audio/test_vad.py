"""Voice activity detection with the real model."""

import asyncio

import numpy as np
import onnx
import pytest
from sounds import voice_like

from audio.endpoint import (
    EndpointConfig,
    Endpointer,
    SpeechPaused,
    SpeechProlonged,
    SpeechStarted,
    SpeechSustained,
    TurnEnded,
    VoiceNoticed,
)
from audio.vad import (
    MOST_PENDING_S,
    MOST_WINDOWS,
    SAMPLE_RATE_HZ,
    WINDOW_SAMPLES,
    SileroVad,
    VadBatcher,
    VadError,
)

RNG = np.random.default_rng(7)


@pytest.fixture(scope="module")
def model() -> SileroVad:
    silero = SileroVad()
    silero.load()
    return silero


class CountingModel:
    """The real model, with a note of the rows of every run."""

    def __init__(self, model: SileroVad) -> None:
        self._model = model
        self.rows: list[int] = []

    def load(self) -> None:
        pass

    def run(self, windows, states):
        self.rows.append(len(windows))
        return self._model.run(windows, states)


@pytest.fixture
def counting(model) -> CountingModel:
    return CountingModel(model)


async def judged(*told: list[float], windows: int) -> None:
    """Wait until each of the lists holds so many probabilities."""
    while not all(len(probabilities) >= windows for probabilities in told):  # noqa: ASYNC110  callbacks tell no end
        await asyncio.sleep(0.001)


async def alone(model, sound) -> list[float]:
    """What the stream tells when no other is open."""
    told: list[float] = []
    VadBatcher(model).open(told.append).push(sound)
    await judged(told, windows=len(sound) // WINDOW_SAMPLES)
    return told


def test_rows_of_a_batch_are_bit_identical_to_runs_of_one(model):
    windows = RNG.normal(0, 0.1, (9, 64 + WINDOW_SAMPLES)).astype(np.float32)
    states = RNG.normal(0, 0.1, (2, 9, 128)).astype(np.float32)
    probabilities, new_states = model.run(windows, states)
    for row in range(9):
        probability, state = model.run(windows[row : row + 1], states[:, row : row + 1])
        assert probability[0] == probabilities[row]
        assert np.array_equal(state[:, 0], new_states[:, row])


def test_a_file_without_the_models_weights_is_refused(tmp_path):
    path = tmp_path / "other.onnx"
    graph = onnx.helper.make_graph([], "nothing", [], [])
    path.write_bytes(onnx.helper.make_model(graph).SerializeToString())
    with pytest.raises(VadError, match=r"other\.onnx has no weights 'model\.stft"):
        SileroVad(path).load()


def test_a_file_that_is_no_model_is_refused(tmp_path):
    path = tmp_path / "song.onnx"
    path.write_bytes(b"la la la")
    with pytest.raises(VadError, match=r"song\.onnx cannot be loaded: it is no ONNX file"):
        SileroVad(path).load()


def test_a_model_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(VadError, match=r"no_such\.onnx"):
        SileroVad(tmp_path / "no_such.onnx").load()


async def test_silence_is_improbable(model):
    assert max(await alone(model, np.zeros(60 * WINDOW_SAMPLES, np.int16))) < 0.1


async def test_noise_is_improbable(model):
    noise = RNG.normal(0, 1_000, 60 * WINDOW_SAMPLES).astype(np.int16)
    assert max(await alone(model, noise)) < 0.3


async def test_a_voice_is_probable_from_its_second_window_to_its_end(model):
    silence = np.zeros(20 * WINDOW_SAMPLES, np.int16)
    told = await alone(model, np.concatenate((silence, voice_like(60), silence)))
    assert max(told[:20]) < 0.1
    assert min(told[21:79]) > 0.4
    assert max(told[82:]) < 0.3


async def test_the_endpointer_finds_a_voice_within_80_ms_of_where_it_is(model):
    silence = np.zeros(20 * WINDOW_SAMPLES, np.int16)
    told = await alone(model, np.concatenate((silence, voice_like(60), silence)))
    window_s = WINDOW_SAMPLES / SAMPLE_RATE_HZ
    endpointer = Endpointer(EndpointConfig())
    events = [event for probability in told for event in endpointer.push(probability, window_s)]
    assert [type(event) for event in events] == [
        VoiceNoticed,
        SpeechStarted,
        SpeechSustained,
        SpeechProlonged,
        SpeechPaused,
        TurnEnded,
    ]
    assert abs(events[1].at_s - 20 * window_s) <= 0.08
    assert abs(events[-1].at_s - 80 * window_s) <= 0.08


async def test_every_window_is_told_once_and_in_order_however_the_sound_is_cut(model):
    sound = voice_like(30)
    whole = await alone(model, sound)
    told: list[float] = []
    stream = VadBatcher(model).open(told.append)
    for piece in np.split(sound, np.sort(RNG.integers(0, len(sound), 40))):
        stream.push(piece)
        await asyncio.sleep(0)
    await judged(told, windows=30)
    assert told == whole


async def test_less_than_a_window_is_kept_for_later(model):
    told: list[float] = []
    stream = VadBatcher(model).open(told.append)
    stream.push(np.zeros(WINDOW_SAMPLES - 1, np.int16))
    await asyncio.sleep(0.02)
    assert told == []
    assert stream.pending_s == (WINDOW_SAMPLES - 1) / SAMPLE_RATE_HZ
    stream.push(np.zeros(1, np.int16))
    await judged(told, windows=1)
    assert stream.pending_s == 0


async def test_calls_share_runs_and_hear_what_they_would_hear_alone(model, counting):
    sounds = [voice_like(12, seed) for seed in range(5)]
    expected = [await alone(model, sound) for sound in sounds]
    batcher = VadBatcher(counting)
    told: list[list[float]] = [[] for _ in sounds]
    streams = [batcher.open(probabilities.append) for probabilities in told]
    for stream, sound in zip(streams, sounds, strict=True):
        stream.push(sound)
    await judged(*told, windows=12)
    assert told == expected
    assert counting.rows == [5] * 12


async def test_a_run_is_bounded_however_many_calls_wait(counting):
    batcher = VadBatcher(counting)
    told: list[list[float]] = [[] for _ in range(MOST_WINDOWS + 5)]
    for probabilities in told:
        batcher.open(probabilities.append).push(np.zeros(2 * WINDOW_SAMPLES, np.int16))
    await judged(*told, windows=2)
    assert max(counting.rows) == MOST_WINDOWS
    assert sum(counting.rows) == 2 * (MOST_WINDOWS + 5)


async def test_calls_without_a_window_cost_no_run_and_no_timer(counting, monkeypatch):
    batcher = VadBatcher(counting)
    streams = [batcher.open(lambda _: None) for _ in range(3)]
    loop = asyncio.get_running_loop()
    monkeypatch.setattr(loop, "call_later", lambda *_: pytest.fail("a timer was armed"))
    monkeypatch.setattr(loop, "call_soon", lambda *_: pytest.fail("a tick was armed"))
    for stream in streams:
        stream.push(np.zeros(WINDOW_SAMPLES - 1, np.int16))
    monkeypatch.undo()
    assert counting.rows == []


async def test_a_tick_is_armed_once_for_all_calls(counting, monkeypatch):
    batcher = VadBatcher(counting)
    streams = [batcher.open(lambda _: None) for _ in range(3)]
    loop = asyncio.get_running_loop()
    delays: list[float] = []
    monkeypatch.setattr(loop, "call_later", lambda delay_s, _: delays.append(delay_s) or object())
    for stream in streams:
        stream.push(np.zeros(WINDOW_SAMPLES, np.int16))
    monkeypatch.undo()
    assert len(delays) == 1


async def test_a_callback_that_fails_is_reported_and_hurts_no_other_call(model):
    reported: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context["exception"]))
    failure = RuntimeError("the callback broke")

    def broken(_: float) -> None:
        raise failure

    batcher = VadBatcher(model)
    told: list[float] = []
    for callback in (broken, told.append):
        batcher.open(callback).push(np.zeros(3 * WINDOW_SAMPLES, np.int16))
    await judged(told, windows=3)
    assert reported == [failure] * 3


async def test_a_closed_stream_hears_nothing_more(model):
    batcher = VadBatcher(model)
    told: list[float] = []
    other: list[float] = []
    stream = batcher.open(told.append)
    stream.push(np.zeros(2 * WINDOW_SAMPLES, np.int16))
    stream.close()
    stream.push(np.zeros(2 * WINDOW_SAMPLES, np.int16))
    batcher.open(other.append).push(np.zeros(2 * WINDOW_SAMPLES, np.int16))
    await judged(other, windows=2)
    assert told == []


async def test_a_stream_closed_by_another_call_in_the_same_run_is_not_told(model):
    batcher = VadBatcher(model)
    told: list[float] = []
    first: list[float] = []

    def close_second(probability: float) -> None:
        first.append(probability)
        second.close()

    batcher.open(close_second).push(np.zeros(WINDOW_SAMPLES, np.int16))
    second = batcher.open(told.append)
    second.push(np.zeros(WINDOW_SAMPLES, np.int16))
    await judged(first, windows=1)
    assert told == []


async def test_a_reset_stream_begins_as_if_new(model):
    sound = voice_like(10)
    new = await alone(model, sound)
    told: list[float] = []
    stream = VadBatcher(model).open(told.append)
    stream.push(voice_like(5, seed=3))
    await judged(told, windows=5)
    stream.push(np.ones(100, np.int16))
    stream.reset()
    stream.push(sound)
    await judged(told, windows=15)
    assert told[5:] == new


async def test_a_call_remembers_nothing_of_the_closed_one_whose_place_it_has(model):
    sound = voice_like(10)
    new = await alone(model, sound)
    batcher = VadBatcher(model)
    before: list[float] = []
    first = batcher.open(before.append)
    first.push(voice_like(5, seed=3))
    await judged(before, windows=5)
    first.close()
    told: list[float] = []
    second = batcher.open(told.append)
    assert second.slot == first.slot
    second.push(sound)
    await judged(told, windows=10)
    assert told == new


async def test_a_call_that_comes_when_all_places_are_taken_moves_no_state_of_the_others(model):
    sound = voice_like(10)
    new = await alone(model, sound)
    batcher = VadBatcher(model)
    told: list[float] = []
    stream = batcher.open(told.append)
    stream.push(sound[: 5 * WINDOW_SAMPLES])
    await judged(told, windows=5)
    others = [batcher.open(print) for _ in range(100)]
    stream.push(sound[5 * WINDOW_SAMPLES :])
    await judged(told, windows=10)
    assert told == new
    assert len({stream.slot, *(other.slot for other in others)}) == 101


async def test_sound_too_far_ahead_of_the_model_is_refused(model):
    stream = VadBatcher(model).open(lambda _: None)
    stream.push(np.zeros(int(MOST_PENDING_S * SAMPLE_RATE_HZ), np.int16))
    with pytest.raises(BufferError, match=r"60\.0 s of sound wait to be judged"):
        stream.push(np.zeros(1, np.int16))
    stream.close()
