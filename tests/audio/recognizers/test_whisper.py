from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path
from threading import Event

import numpy as np
import pytest
import pytest_asyncio
from sounds import chunks, recognized

from audio.pcm import Samples
from audio.recognizers import ExpectedSpeech, Flush, RecognizerError
from audio.recognizers.whisper import WhisperRecognizer
from audio.recognizers.whisper_model import LoadedModel


@pytest_asyncio.fixture(name="whisper", scope="module", loop_scope="module")
async def tiny_whisper(whisper_directory: Path) -> AsyncIterator[WhisperRecognizer]:
    recognizer = WhisperRecognizer(str(whisper_directory), device="cpu", compute_type="int8", threads=1)
    await recognizer.start()
    yield recognizer
    await recognizer.close()


@pytest.fixture
def decoded_s(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The lengths of all windows that are decoded from now on."""
    lengths: list[float] = []
    decode = LoadedModel.decode

    def noted(model: LoadedModel, sound: Samples, *rest: object) -> object:
        lengths.append(len(sound) / 16_000)
        return decode(model, sound, *rest)  # type: ignore[arg-type]  # passed on as they came

    monkeypatch.setattr(LoadedModel, "decode", noted)
    return lengths


async def test_the_whole_path_runs_from_sound_to_text(whisper: WhisperRecognizer, spoken: Samples) -> None:
    *_, last = await recognized(whisper, chunks(spoken))
    assert last.settled
    assert last.text.split()


async def test_it_decodes_once_a_step_at_most_and_at_every_flush(
    whisper: WhisperRecognizer, decoded_s: list[float], spoken: Samples
) -> None:
    heard_all = asyncio.Event()

    async def sound() -> AsyncIterator[Samples | Flush]:
        yield spoken[:4_000]  # half a step: nothing to decode
        yield Flush()
        yield spoken[4_000:20_000]
        await heard_all.wait()

    async with aclosing(whisper.recognize(sound())) as hypotheses:
        assert (await anext(hypotheses)).settled
        assert decoded_s == [0.25]
        assert not (await anext(hypotheses)).settled
        assert decoded_s == [0.25, 1.25]
        heard_all.set()
        assert (await anext(hypotheses)).settled
        assert decoded_s == [0.25, 1.25]  # no new sound, nothing to decode again


async def test_a_second_flush_without_new_sound_costs_nothing(
    whisper: WhisperRecognizer, decoded_s: list[float], spoken: Samples
) -> None:
    await recognized(whisper, chunks(spoken, Flush(), Flush(), Flush(), length=len(spoken)))
    assert len(decoded_s) <= 2


async def test_a_long_utterance_costs_no_more_than_a_window(
    whisper: WhisperRecognizer, decoded_s: list[float], spoken: Samples
) -> None:
    await recognized(whisper, chunks(np.tile(spoken, 20)))
    assert sum(decoded_s) > 20
    assert max(decoded_s) < 50


async def test_many_utterances_at_once_are_decoded_one_at_a_time(
    whisper: WhisperRecognizer, monkeypatch: pytest.MonkeyPatch, spoken: Samples
) -> None:
    running, most = [], []
    decode = LoadedModel.decode

    def noted(model: LoadedModel, *arguments: object) -> object:
        running.append(1)
        most.append(len(running))
        try:
            return decode(model, *arguments)  # type: ignore[arg-type]  # passed on as they came
        finally:
            running.pop()

    monkeypatch.setattr(LoadedModel, "decode", noted)
    await asyncio.gather(*(recognized(whisper, chunks(spoken)) for _ in range(5)))
    assert max(most) == 1


async def test_what_the_engine_raises_is_a_recognizer_error(
    whisper: WhisperRecognizer, monkeypatch: pytest.MonkeyPatch, spoken: Samples
) -> None:
    def out_of_memory(*_: object) -> None:
        raise RuntimeError("CUDA out of memory")

    monkeypatch.setattr(LoadedModel, "decode", out_of_memory)
    with pytest.raises(RecognizerError, match="whisper: RuntimeError: CUDA out of memory"):
        await recognized(whisper, chunks(spoken))


async def start_error(**arguments: object) -> str:
    with pytest.raises(RecognizerError) as raised:
        await WhisperRecognizer(**arguments).start()  # type: ignore[arg-type]  # as a config would give them
    return str(raised.value)


async def test_a_missing_model_is_named_with_cache_and_way_out(tmp_path: Path) -> None:
    error = await start_error(model="tiny.en", download_root=tmp_path, local_files_only=True)
    assert "'tiny.en'" in error
    assert str(tmp_path) in error
    for way_out in ("HF_HUB_OFFLINE=1", "download_root", "directory of a converted model"):
        assert way_out in error
    assert "\n" not in error


async def test_an_unknown_size_is_reported_with_the_known_ones() -> None:
    assert "tiny.en" in await start_error(model="tiniest", local_files_only=True)


async def test_a_directory_must_be_a_converted_model(whisper_directory: Path, tmp_path: Path) -> None:
    without = tmp_path / "without"
    shutil.copytree(whisper_directory, without)
    (without / "tokenizer.json").unlink()
    assert "has no tokenizer.json" in await start_error(model=str(without))
    assert "is not a directory" in await start_error(model=str(tmp_path / "nowhere"))


async def test_an_unknown_language_is_refused_with_those_the_model_knows(whisper_directory: Path) -> None:
    error = await start_error(model=str(whisper_directory), language="de")
    assert "'de'" in error
    assert "allowed: en" in error


async def test_a_compute_type_that_does_not_exist_is_named(whisper_directory: Path) -> None:
    assert "int3" in await start_error(model=str(whisper_directory), compute_type="int3")


@pytest.mark.parametrize(("key", "value"), [("step_s", 0), ("workers", 0)])
def test_numbers_out_of_range_are_refused(key: str, value: int) -> None:
    with pytest.raises(ValueError, match=f"{key} is {value}; allowed"):
        WhisperRecognizer("tiny", **{key: value})  # type: ignore[arg-type]  # one of several keys


def test_phrases_of_a_call_precede_earlier_text_and_leave_room_for_it(whisper_directory: Path) -> None:
    model = LoadedModel(str(whisper_directory), "cpu", "int8", ("en",), None, True, 1, 1)
    alone, both = model._before("", "one two"), model._before("Novotny", "one two")
    assert both[0] == alone[0]
    assert both[-len(alone[1:]) :] == alone[1:]
    assert len(both) > len(alone)
    assert model._before("", "") == []
    full = model._before("Novotny " * 300, "one " * 300)
    assert len(full) == 1 + 200
    assert full[-50:] == model._before("", "one " * 300)[-50:]


def test_phrases_of_a_call_reach_the_network(
    whisper_directory: Path, spoken: Samples, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[str] = []
    before = LoadedModel._before

    def noted(model: LoadedModel, phrases: str, text: str) -> list[int]:
        given.append(phrases)
        return before(model, phrases, text)

    monkeypatch.setattr(LoadedModel, "_before", noted)
    model = LoadedModel(str(whisper_directory), "cpu", "int8", ("en",), None, True, 1, 1)
    model.open_in(ExpectedSpeech(phrases=("Novotny",), words=("lobby",)))(spoken, "", Event())
    model.open()(spoken, "", Event())
    assert given[0] == "Novotny, lobby"
    assert given[-1] == ""
    assert WhisperRecognizer(str(whisper_directory)).takes_expected
