"""Gain of the shipped corrections of the recognizer."""

from __future__ import annotations

from threading import Event

from shipped_models import ADAPTER
from sounds import said

from audio.pcm import AudioFormat, decode, encode
from audio.recognizers.moonshine_model import LoadedModel
from audio.resample import resample


async def test_a_synthetic_voice_is_understood_over_the_telephone() -> None:
    question = "What time does the restaurant close on Sunday?"
    narrow = resample(await said(question), 16_000, 8_000)
    sound = resample(decode(encode(narrow, AudioFormat.PCMU), AudioFormat.PCMU), 8_000, 16_000)
    plain, adapted = (
        model.text(model.transcribe(sound, [], Event()).tokens)
        for model in (LoadedModel(None), LoadedModel(None, adapter=ADAPTER))
    )
    assert plain != adapted == question
