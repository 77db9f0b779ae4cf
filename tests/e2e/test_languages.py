"""A call that switches between English and Spanish by voice: a server with Whisper base and Kokoro."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import numpy as np
import pytest
from fixed_config import write_config
from sdk_caller import calling
from served import served

from audio.pcm import Samples
from audio.synthesizers import Speech
from audio.synthesizers.kokoro import KokoroSynthesizer
from audio.synthesizers.pieces import Piece
from audio.synthesizers.voices import VoiceSettings
from voiceagent.weights import is_stored, known_weights, weights_folder

pytest.importorskip("py3langid", reason="pip install 'voiceagent-server[languages]'")
pytest.importorskip("espeakng_loader", reason="pip install 'voiceagent-server[espeak]'")

ENGINES = '''
from served_engines import FixedLlm
from voiceagent.engines.own import Delta


class Instructed(FixedLlm):
    """Answers with the last line of its instructions."""

    async def generate(self, request):
        yield Delta(request.messages[0].content.splitlines()[-1])
        yield Delta(finish_reason="stop")
'''
TURNS = (
    ("es", "ef_dora", "Quisiera reservar una habitación para dos noches."),
    ("en", "af_heart", "At what time is breakfast in the morning, please?"),
)


def weights(name: str) -> Path:
    """Return the folder of downloaded weights; skip the test without them."""
    folder = weights_folder(os.environ) / name
    if not is_stored(known_weights()[name], weights_folder(os.environ)):
        pytest.skip(f"no weights: voiceagent weights {name}")
    return folder


def kokoro_says(model: Path, language: str, voice: str, text: str) -> Samples:
    """Return a sentence at 24 kHz."""
    chunks: list[Samples] = []

    def emit(speech: Speech) -> bool:
        chunks.append(speech.samples)
        return True

    speaking = KokoroSynthesizer(model, language, voice).open()
    for _ in speaking.push(Piece(text, 0, VoiceSettings()), emit) or ():
        pass
    return np.concatenate(chunks)


async def test_each_turn_is_answered_in_the_language_that_is_heard(tmp_path: Path) -> None:
    whisper, kokoro = weights("whisper-base"), weights("kokoro-82m") / "kokoro-v1.0.int8.onnx"
    (tmp_path / "instructed_llm.py").write_text(ENGINES)
    config = write_config(tmp_path, FixedLlm="instructed_llm:Instructed")
    text = config.read_text().replace(
        'engine = "served_engines:FixedRecognizer"',
        f'engine = "whisper"\nmodel = "{whisper}"\ndevice = "cpu"\ncompute_type = "int8"',
    )
    others = "delay_s = 0.05        # from the pause", "ttft_s", "word_s"  # keys of the engines left out
    lines = [line for line in text.splitlines() if not line.startswith(others)]
    config.write_text("\n".join([*lines, "[languages.es]"]))
    sounds = [await asyncio.to_thread(kokoro_says, kokoro, *turn) for turn in TURNS]
    async with served(config) as address, calling(address) as caller:
        for number, sound in enumerate(sounds, 1):
            await caller.speak(sound)
            await caller.until("response.done", number)
        answers = [event["transcript"] for event in caller.of("response.output_audio_transcript.done")]
        heard = caller.of("conversation.item.input_audio_transcription.completed")
    assert answers == ["Responde en español.", "Answer in English."]
    assert "habitación" in heard[0]["transcript"] and "breakfast" in heard[1]["transcript"]
