"""Sound and models for the tests of engines."""

from __future__ import annotations

from pathlib import Path

import pytest
import pytest_asyncio
import small_language as small_language_of_commands
from sounds import said

from audio.detection.vad import SileroVad
from audio.pcm import Samples


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def spoken() -> Samples:
    """A synthetic voice that says "go forward ten meters", at 16 kHz."""
    return await said("Go forward ten meters.")


@pytest.fixture(scope="session")
def vad_model() -> SileroVad:
    """The model of voice activity."""
    model = SileroVad()
    model.load()
    return model


@pytest.fixture(scope="session")
def small_language(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A language model and a dictionary for pocketsphinx."""
    return small_language_of_commands.write(tmp_path_factory.mktemp("language"))


@pytest.fixture(scope="session")
def whisper_directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A converted Whisper of random weights."""
    for package in ("torch", "transformers", "faster_whisper"):
        pytest.importorskip(package, reason=f"a tiny Whisper is made with {package}, which is not installed")
    import tiny_whisper  # noqa: PLC0415 - imports torch

    return tiny_whisper.build(tmp_path_factory.mktemp("whisper"))


@pytest.fixture(scope="session")
def piper_voice(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Piper voice of tones."""
    for package in ("onnx", "piper"):
        pytest.importorskip(package, reason=f"a tiny voice is made with {package}, which is not installed")
    import tiny_voice  # noqa: PLC0415 - imports onnx and piper

    return tiny_voice.build(tmp_path_factory.mktemp("voice"), speakers=("anna", "ben"))
