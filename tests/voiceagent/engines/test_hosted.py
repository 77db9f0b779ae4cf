from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from sounds import chunks

from audio.recognizers import RecognizerError
from audio.recognizers.moonshine import MoonshineRecognizer
from audio.recognizers.pocketsphinx import PocketsphinxRecognizer
from audio.synthesizers.espeak import EspeakSynthesizer
from audio.synthesizers.piper import PiperSynthesizer
from voiceagent.engines.build import build_engine
from voiceagent.engines.config import EngineConfig
from voiceagent.engines.engines import Engines
from voiceagent.engines.hosted import HostedSynthesizer, is_blocking
from voiceagent.validation.errors import ConfigError

OWN = '''
"""Blocking engines of one's own."""

import numpy as np
from audio.recognizers import RecognizerError
from audio.synthesizers import Speech

class Tone:
    turn_characters = 4
    rate_hz = 8_000

    def __init__(self, level: int = 1) -> None:
        self.level = level

    def open(self):
        return self

    def push(self, piece, emit):
        emit(Speech(np.full(len(piece.text), self.level, np.int16)))

    def finish(self, emit): ...

    def close(self): ...

class Deaf:
    def open(self):
        raise RecognizerError("nothing to hear with")

class Turnless:
    rate_hz = 8_000

    def open(self): ...
'''


@pytest.fixture
def build(tmp_path: Path) -> Any:
    """Build an engine from a table in a configuration whose folder holds the module of engines."""
    (tmp_path / "own_blocking_engines.py").write_text(OWN)

    def build(stage: Any, name: str, **options: Any) -> Any:
        table = EngineConfig(engine=f"own_blocking_engines:{name}", **options)
        return build_engine(stage, table, tmp_path / "test.toml")

    return build


def test_a_blocking_engine_is_known_by_its_shape() -> None:
    assert all(map(is_blocking, (EspeakSynthesizer, PiperSynthesizer, PocketsphinxRecognizer)))
    assert not is_blocking(MoonshineRecognizer)


async def test_a_blocking_engine_of_ones_own_is_hosted(build: Any) -> None:
    synthesizer = build("synthesizer", "Tone", level=7, workers=2)
    assert isinstance(synthesizer, HostedSynthesizer)
    await synthesizer.start()
    assert len(Engines(None, None, synthesizer).process_ids()["synthesizer"]) == 2  # type: ignore[arg-type]
    assert synthesizer.rate_hz == 8_000
    spoken = [list(speech.samples) async for speech in synthesizer.speak("one two")]
    await synthesizer.close()
    assert spoken == [[7] * 4, [7] * 3]


async def test_its_failures_are_those_of_its_stage_with_its_name(build: Any) -> None:
    recognizer = build("recognizer", "Deaf")
    await recognizer.start()
    with pytest.raises(RecognizerError, match=r"^deaf: nothing to hear with$"):
        _ = [hypothesis async for hypothesis in recognizer.recognize(chunks())]
    await recognizer.close()


@pytest.mark.parametrize(
    ("stage", "name", "options", "said"),
    [
        ("synthesizer", "Tone", {"workers": 0}, "workers is 0; allowed: 1 or more"),
        (
            "synthesizer",
            "Tone",
            {"workers": "2"},
            "synthesizer.workers = '2': allowed: a valid integer",
        ),
        ("synthesizer", "Tone", {"loud": 1}, "synthesizer.loud = 1: unknown key; allowed: level, workers"),
        ("synthesizer", "Turnless", {}, "Turnless has no turn_characters"),
    ],
)
def test_what_it_cannot_be_hosted_with_is_refused(
    build: Any, stage: Any, name: str, options: dict[str, Any], said: str
) -> None:
    with pytest.raises(ConfigError, match=said):
        build(stage, name, **options)


def test_a_server_that_hosts_an_engine_does_not_load_its_library() -> None:
    code = """
import sys
from audio.recognizers.pocketsphinx import PocketsphinxRecognizer
from audio.synthesizers.espeak import EspeakSynthesizer
from audio.synthesizers.piper import PiperSynthesizer
from voiceagent.engines.hosted import hosted
hosted(EspeakSynthesizer), hosted(PiperSynthesizer, voice="x"), hosted(PocketsphinxRecognizer)
print(*({"espeakng_loader", "piper", "pocketsphinx"} & set(sys.modules)))
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "\n"
