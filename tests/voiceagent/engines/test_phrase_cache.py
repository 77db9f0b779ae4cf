"""Repeated phrases cost nothing: in memory, and fixed ones on disk between starts."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path

import numpy as np
import pytest

from audio.synthesizers import Speech, SynthesizerError, WordTiming
from audio.synthesizers.voices import USUAL_SETTINGS, KnownVoices, VoiceSettings
from voiceagent.engines.phrase_cache import CachedSynthesizer
from voiceagent.engines.phrase_files import PhraseFiles

RATE_HZ = 1000
SAMPLES = 900


class CountingVoice:
    """Speaks each word as 300 samples, and counts the texts that it is asked for."""

    def __init__(self, loudness: int = 500) -> None:
        self.rate_hz = RATE_HZ
        self.loudness = loudness
        self.asked: list[str] = []
        self.fails = False

    async def start(self) -> None:
        pass

    async def close(self) -> None:
        pass

    async def speak(self, text: str) -> AsyncGenerator[Speech, None]:
        self.asked.append(text)
        character = 0
        for number, word in enumerate(text.split()):
            if self.fails and number:
                raise SynthesizerError("it broke")
            character = text.index(word, character)
            sound = np.full(300, self.loudness + number, np.int16)
            yield Speech(sound, (WordTiming(character, number * 300),))


async def cached(
    voice: CountingVoice,
    files: PhraseFiles | None = None,
    memory: int = 100_000,
    name: str = "joe",
    fixed: tuple[str, ...] = (),
) -> tuple[CachedSynthesizer, list[str]]:
    counted: list[str] = []
    synthesizer = CachedSynthesizer(voice, name, memory, files, fixed, counted.append)
    await synthesizer.start()
    return synthesizer, counted


def stored(folder: Path) -> list[Path]:
    return list(folder.iterdir())


async def said(synthesizer: CachedSynthesizer, text: str) -> tuple[list[int], list[tuple[int, int]]]:
    speeches = [speech async for speech in synthesizer.speak(text)]
    words = [(word.character, word.at_samples) for speech in speeches for word in speech.words]
    return np.concatenate([speech.samples for speech in speeches]).tolist(), words


async def test_the_same_phrase_is_made_once_and_sounds_the_same() -> None:
    voice = CountingVoice()
    synthesizer, counted = await cached(voice)
    assert await said(synthesizer, "One two three") == await said(synthesizer, "One two three")
    assert voice.asked == ["One two three"]
    assert counted == ["miss", "memory"]


async def test_other_speed_is_another_phrase() -> None:
    class Faster(CountingVoice):
        takes_speed = True

        async def speak(
            self, text: str, settings: VoiceSettings = USUAL_SETTINGS
        ) -> AsyncGenerator[Speech, None]:
            self.asked.append(f"{text} {settings.speed}")
            yield Speech(np.full(round(300 / settings.speed), 500, np.int16))

    voice = Faster()
    synthesizer, counted = await cached(voice)
    for speed in (1.0, 1.5, 1.5):
        speeches = synthesizer.speak("One", VoiceSettings(speed=speed))
        assert sum([len(one.samples) async for one in speeches]) == round(300 / speed)
    assert voice.asked == ["One 1.0", "One 1.5"] and counted == ["miss", "miss", "memory"]


async def test_voice_without_speeds_is_asked_without_one() -> None:
    voice = CountingVoice()
    synthesizer, _ = await cached(voice)
    assert not synthesizer.takes_speed
    faster = synthesizer.speak("One", VoiceSettings(speed=1.5))
    assert [len(one.samples) async for one in faster] == [300]


async def test_phrase_of_a_voice_is_found_under_all_its_names() -> None:
    class Two(CountingVoice):
        known_voices = KnownVoices(("amy",), aliases={"marin": "amy"})

        async def speak(
            self, text: str, settings: VoiceSettings = USUAL_SETTINGS
        ) -> AsyncGenerator[Speech, None]:
            self.asked.append(settings.voice)
            yield Speech(np.full(300, 500, np.int16))

    voice = Two()
    synthesizer, counted = await cached(voice)
    for name in ("", "amy", "marin", "unknown"):
        assert [one async for one in synthesizer.speak("One", VoiceSettings(name))]
    assert (voice.asked, counted) == (["", "amy"], ["miss", "miss", "memory", "memory"])


async def test_blanks_around_a_phrase_move_its_words_only() -> None:
    synthesizer, counted = await cached(CountingVoice())
    sound, words = await said(synthesizer, "One two")
    again, moved = await said(synthesizer, "  One two ")
    assert again == sound and moved == [(character + 2, at) for character, at in words]
    assert counted == ["miss", "memory"]


async def test_phrase_given_up_in_the_middle_is_not_kept() -> None:
    voice = CountingVoice()
    synthesizer, _ = await cached(voice)
    async with aclosing(synthesizer.speak("One two")) as speeches:
        await anext(speeches)
    assert len((await said(synthesizer, "One two"))[0]) == 600
    assert len(voice.asked) == 2


async def test_phrase_that_failed_is_not_kept() -> None:
    voice = CountingVoice()
    synthesizer, _ = await cached(voice)
    voice.fails = True
    with pytest.raises(SynthesizerError):
        await said(synthesizer, "One two")
    voice.fails = False
    assert len((await said(synthesizer, "One two"))[0]) == 600


async def test_least_recently_used_phrases_go_first() -> None:
    synthesizer, counted = await cached(CountingVoice(), memory=2 * 600)
    for text in ("One", "Two", "One", "Three", "One", "Two"):
        await said(synthesizer, text)
    assert counted == ["miss", "miss", "memory", "miss", "memory", "miss"]


async def test_phrase_that_is_not_fixed_never_goes_to_disk(tmp_path: Path) -> None:
    files = PhraseFiles(tmp_path / "phrases", 100_000)
    synthesizer, counted = await cached(CountingVoice(), files, fixed=("Good evening.",))
    for _ in range(3):
        await said(synthesizer, "Thank you, Mrs Miller.")
    await synthesizer.close()
    assert counted == ["miss", "memory", "memory"]
    assert not (tmp_path / "phrases").exists()


async def test_fixed_phrase_is_there_after_a_start_though_spoken_once(tmp_path: Path) -> None:
    files = PhraseFiles(tmp_path, 100_000)
    first, _ = await cached(CountingVoice(), files, fixed=("Good evening.",))
    await said(first, " Good evening. ")
    await first.close()
    second, counted = await cached(CountingVoice(), files)
    await said(second, "Good evening.")
    assert counted == ["disk"]


async def test_other_voice_has_phrases_of_its_own(tmp_path: Path) -> None:
    files = PhraseFiles(tmp_path, 100_000)
    synthesizer, _ = await cached(CountingVoice(), files, fixed=("One",))
    await said(synthesizer, "One")
    await synthesizer.close()
    other, counted = await cached(CountingVoice(), files, name="amy")
    await said(other, "One")
    assert counted == ["miss"]


@pytest.mark.parametrize("damage", [b"", b"nonsense", b"x" * 4000])
async def test_damaged_file_is_ignored_and_removed(tmp_path: Path, damage: bytes) -> None:
    files = PhraseFiles(tmp_path, 100_000)
    synthesizer, _ = await cached(CountingVoice(), files, fixed=("One",))
    await said(synthesizer, "One")
    await synthesizer.close()
    [path] = stored(tmp_path)
    path.write_bytes(damage)
    again, counted = await cached(CountingVoice(), files)
    assert len((await said(again, "One"))[0]) == 300
    assert counted == ["miss"] and not path.exists()


async def test_folder_stays_within_its_limit(tmp_path: Path) -> None:
    files = PhraseFiles(tmp_path, 2_000)
    texts = ("One", "Two", "Three", "Four")
    synthesizer, _ = await cached(CountingVoice(), files, fixed=texts)
    for text in texts:
        await said(synthesizer, text)
    await synthesizer.close()
    assert 0 < sum(path.stat().st_size for path in stored(tmp_path)) <= 2_000


async def test_folder_that_cannot_be_written_costs_the_disk_only(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    files = PhraseFiles(tmp_path / "file", 100_000)
    synthesizer, counted = await cached(CountingVoice(), files, fixed=("One",))
    for _ in range(3):
        await said(synthesizer, "One")
    await synthesizer.close()
    assert counted == ["miss", "memory", "memory"]


async def test_text_does_not_stand_in_its_file(tmp_path: Path) -> None:
    synthesizer, _ = await cached(CountingVoice(), PhraseFiles(tmp_path, 100_000), fixed=("Secret",))
    await said(synthesizer, "Secret")
    await synthesizer.close()
    [path] = stored(tmp_path)
    assert b"Secret" not in path.read_bytes() and "Secret" not in path.name
    assert path.stat().st_mode & 0o077 == 0
