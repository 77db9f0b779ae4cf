from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np
import pytest
import pytest_asyncio
from recordings import recorded, recording
from sounds import chunks, recognized

from audio.pcm import Samples
from audio.recognizers import Flush, RecognizerError
from audio.recognizers.pocketsphinx import PocketsphinxRecognizer, spoken_words
from voiceagent.engines.hosted import HostedRecognizer, hosted
from voiceagent.scores.word_errors import edit_distance


@pytest_asyncio.fixture(name="bundled", scope="module", loop_scope="module")
async def with_bundled_model() -> AsyncIterator[HostedRecognizer]:
    recognizer = hosted(PocketsphinxRecognizer)
    await recognizer.start()
    yield recognizer
    await recognizer.close()


@pytest_asyncio.fixture(name="commands", scope="module", loop_scope="module")
async def with_small_language(small_language: tuple[Path, Path]) -> AsyncIterator[HostedRecognizer]:
    model, dictionary = small_language
    recognizer = hosted(PocketsphinxRecognizer, language_model=model, dictionary=dictionary)
    await recognizer.start()
    yield recognizer
    await recognizer.close()


async def test_a_recorded_command_is_understood_word_for_word(bundled: HostedRecognizer) -> None:
    hypotheses = await recognized(bundled, chunks(recorded("goforward.wav", 16_000), Flush()))
    assert {hypothesis.text for hypothesis in hypotheses if hypothesis.settled} == {"go forward ten meters"}


async def test_recorded_people_are_mostly_understood(bundled: HostedRecognizer) -> None:
    wanted = ("cards_005.wav", "something.wav", "sb_spk1_snt1.wav", "ss_0870.wav")
    wrong = spoken = 0
    for entry in json.loads(recording("manifest.json").read_text()):
        if entry["file"] in wanted:
            *_, last = await recognized(bundled, chunks(recorded(entry["file"], 16_000)))
            words = entry["text"].replace("mister", "mr").split()
            wrong += edit_distance(words, last.text.split())
            spoken += len(words)
    assert spoken == 43
    assert wrong / spoken < 0.3


async def test_a_language_model_and_dictionary_of_ones_own_are_used(
    commands: HostedRecognizer, spoken: Samples
) -> None:
    *_, last = await recognized(commands, chunks(spoken))
    assert last.text == "go forward ten meters"


async def test_the_same_sound_gives_the_same_words_however_it_is_cut(
    commands: HostedRecognizer, spoken: Samples
) -> None:
    texts = [
        (await recognized(commands, chunks(spoken, length=length)))[-1]
        for length in (160, 333, 1_600, 50_000)
    ]
    assert len(set(texts)) == 1


async def test_an_utterance_leaves_no_trace_in_the_next(commands: HostedRecognizer, spoken: Samples) -> None:
    alone = (await recognized(commands, chunks(spoken)))[-1]
    loud = np.random.default_rng(1).normal(0, 8_000, 32_000).astype(np.int16)
    await recognized(commands, chunks(loud))
    assert (await recognized(commands, chunks(spoken)))[-1] == alone


async def test_a_flush_soon_after_the_last_word_has_it_already(
    commands: HostedRecognizer, spoken: Samples
) -> None:
    end = int(np.flatnonzero(np.abs(spoken.astype(int)) > 1_000)[-1])
    *_, flushed, last = await recognized(
        commands, chunks(spoken[: end + 1_600], Flush(), spoken[end + 1_600 :])
    )
    assert flushed.text == last.text == "go forward ten meters"


async def start_error(model: Path | None, dictionary: Path | None) -> str:
    with pytest.raises(RecognizerError) as raised:
        await hosted(PocketsphinxRecognizer, language_model=model, dictionary=dictionary).start()
    return str(raised.value)


async def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    assert f"language_model '{tmp_path}/x.arpa' is not a file" in await start_error(tmp_path / "x.arpa", None)
    assert f"dictionary '{tmp_path}/x.dict' is not a file" in await start_error(None, tmp_path / "x.dict")


async def test_a_file_that_is_no_language_model_is_named(tmp_path: Path) -> None:
    (model := tmp_path / "model.arpa").write_text("nonsense\n")
    assert str(model) in await start_error(model, None)


@pytest.mark.parametrize(
    ("decoded", "spoken"),
    [("go <sil> forward [NOISE] ten", "go forward ten"), ("ten(2) meters(3)", "ten meters"), ("", "")],
)
def test_noises_and_pronunciations_are_no_words(decoded: str, spoken: str) -> None:
    assert spoken_words(decoded) == spoken
