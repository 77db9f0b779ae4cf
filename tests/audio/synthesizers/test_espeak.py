from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import numpy as np
import pytest
import pytest_asyncio

from audio.synthesizers import SynthesizerError
from audio.synthesizers.espeak import EspeakSynthesizer
from voiceagent.engines.hosted import HostedSynthesizer, hosted


@pytest_asyncio.fixture(name="espeak", scope="module", loop_scope="module")
async def started_espeak() -> AsyncIterator[HostedSynthesizer]:
    synthesizer = hosted(EspeakSynthesizer)
    await synthesizer.start()
    yield synthesizer
    await synthesizer.close()


async def quiet_end_s(espeak: HostedSynthesizer, text: str) -> float:
    """Return the length of the silence that ends the sound of `text`, in seconds."""
    sound = np.concatenate([speech.samples async for speech in espeak.speak(text)]).astype(int)
    return float(len(sound) - 1 - np.flatnonzero(np.abs(sound) >= 100)[-1]) / espeak.rate_hz


async def test_sound_comes_in_chunks_of_60_ms_from_the_first_on(espeak: HostedSynthesizer) -> None:
    lengths = [len(speech.samples) async for speech in espeak.speak("Good morning.")]
    assert espeak.rate_hz == 22_050
    assert lengths[0] <= 0.06 * 22_050 + 1


async def test_voice_begins_at_once(espeak: HostedSynthesizer) -> None:
    sound = np.concatenate([speech.samples async for speech in espeak.speak("Good morning.")]).astype(int)
    assert np.flatnonzero(np.abs(sound) >= 100)[0] < 0.02 * 22_050


async def test_the_pause_is_longest_after_a_sentence_and_none_after_a_cut(
    espeak: HostedSynthesizer,
) -> None:
    sentence, clause, cut = [
        await quiet_end_s(espeak, text) for text in ("Good morning.", "Good morning,", "Good")
    ]
    assert 0.1 < sentence <= 0.12
    assert 0.01 < clause < sentence
    assert cut < 0.02


async def test_a_zero_character_in_a_text_does_not_end_it(espeak: HostedSynthesizer) -> None:
    text = "one\0two"
    words = [word async for speech in espeak.speak(text) for word in speech.words]
    assert [word.character for word in words] == [0, 4]


async def test_markup_and_phoneme_codes_are_read_as_text(espeak: HostedSynthesizer) -> None:
    plain = [word async for speech in espeak.speak("<b>x</b>") for word in speech.words]
    assert len(plain) > 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"voice": "xx"}, r"no voice 'xx'; allowed: .*\ben-us\b"),
        ({"voice": "en-us+zz9"}, r"voice 'en-us\+zz9' has no variant 'zz9'; allowed: .*\bf5\b"),
        ({"voice": ""}, "no voice ''; allowed"),
        ({"words_per_minute": 500}, "words_per_minute is 500; allowed: 80 to 450"),
        ({"pitch": -1}, "pitch is -1; allowed: 0 to 100"),
    ],
)
async def test_what_espeak_cannot_do_is_named_with_what_it_can(
    arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(SynthesizerError, match=message):
        await hosted(EspeakSynthesizer, **arguments).start()


async def test_a_voice_of_another_language_and_pace_can_be_had() -> None:
    lengths = []
    for pace in (300, 100):
        synthesizer = hosted(EspeakSynthesizer, voice="de", words_per_minute=pace)
        await synthesizer.start()
        lengths.append(sum([len(speech.samples) async for speech in synthesizer.speak("Guten Morgen.")]))
        await synthesizer.close()
    assert lengths[0] < lengths[1] * 0.7


@pytest.mark.parametrize("voice", ["en-gb", "en-gb+m1", "pt"])
async def test_a_language_in_a_file_of_another_name_can_be_had(voice: str) -> None:
    synthesizer = hosted(EspeakSynthesizer, voice=voice)
    await synthesizer.start()
    assert [speech async for speech in synthesizer.speak("One, two.")]
    await synthesizer.close()


async def test_a_voice_with_breath_sounds_the_same_after_every_start() -> None:
    heard = set()
    for _ in range(3):
        await (synthesizer := hosted(EspeakSynthesizer, voice="en-us+f5")).start()
        heard.add(b"".join([speech.samples.tobytes() async for speech in synthesizer.speak("Go forward.")]))
        await synthesizer.close()
    assert len(heard) == 1
