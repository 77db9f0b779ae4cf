"""Validation of custom engines: adds missing methods, and checks what the engine yields.

The checked class derives from the engine, so that its further abilities remain. A wrong shape, type or rate
raises the error of the engine's kind, naming the found and the expected value. Floats are converted; invalid
audio is never played as silence. Exceptions of the engine's code are converted to the same error with the
source line, so that apologies and fallbacks work.
"""

from __future__ import annotations

import inspect
import sys
import traceback
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any, cast

import numpy as np

from audio.pcm import Samples
from audio.recognizers import Flush, Hypothesis, RecognizerError
from audio.synthesizers import Speech, SynthesizerError
from audio.synthesizers.voices import VoiceSettings
from llmcore.engine import Delta, DraftUse, LlmError, Request, Usage
from voiceagent.engines.catalogue import Stage
from voiceagent.engines.hosted import HostedRecognizer, HostedSynthesizer
from voiceagent.engines.own import LlmEngine, RecognizerEngine, SynthesizerEngine

RATES_HZ = (8_000, 48_000)
"""Range of playable sample rates."""
_METHODS: dict[Stage, str] = {"recognizer": "recognize", "llm": "generate", "synthesizer": "speak"}
_FULL_SCALE = 32_767


class WrongEngine(TypeError):
    """The class cannot be an engine of its kind; the text says what it lacks."""


def checked_class(stage: Stage, engine: type, name: str) -> type:
    """Derive a class from `engine` that enforces the contract of its kind. Raises WrongEngine.

    name: for error messages.
    """
    hosted = issubclass(engine, HostedRecognizer | HostedSynthesizer)
    method = getattr(engine, _METHODS[stage], None)
    if method is None:
        raise WrongEngine(f"{name} has no {_METHODS[stage]}(); see voiceagent.engines.own")
    if inspect.iscoroutinefunction(method):
        message = "is a coroutine; wanted: an async generator, which yields what it makes"
        raise WrongEngine(f"{name}.{_METHODS[stage]} {message}")
    for optional in ("start", "close", "prefill"):
        given = getattr(engine, optional, None)
        if given is not None and not hosted and not inspect.iscoroutinefunction(given):
            raise WrongEngine(f"{name}.{optional} is no coroutine; wanted: async def {optional}")
    checks, defaults = _KINDS[stage]
    bases = (checks, engine) if issubclass(engine, defaults) or hosted else (checks, engine, defaults)
    return type(engine.__name__, bases, {"__module__": engine.__module__, "_display_name": name})


class _CheckedRecognizer:
    """Check of hypotheses: the last one must be settled."""

    _display_name = ""

    async def recognize(self, sound: AsyncIterator[Samples | Flush]) -> AsyncGenerator[Hypothesis, None]:
        last: Hypothesis | None = None
        engine = cast("RecognizerEngine", super())
        async with _stream(engine.recognize, self._display_name, RecognizerError, sound) as hypotheses:
            async for last in hypotheses:
                if not isinstance(last, Hypothesis):
                    raise RecognizerError(
                        f"{self._display_name} yielded {_describe(last)}; wanted: a Hypothesis"
                    )
                yield last
        if last is None or not last.settled:
            message = "no Hypothesis with settled=True at the end of the audio; wanted: one, the last"
            raise RecognizerError(f"{self._display_name}: {message}")


class _CheckedLlm:
    """Check of deltas; adds the last one if its finish reason is missing."""

    _display_name = ""

    async def generate(self, request: Request, *draft: DraftUse) -> AsyncGenerator[Delta, None]:
        # only engines that support speculation, derived from one of ours, get `draft`
        ended = False
        engine = cast("Any", super())
        async with _stream(engine.generate, self._display_name, LlmError, request, *draft) as deltas:
            async for delta in deltas:
                if not isinstance(delta, Delta):
                    raise LlmError(f"{self._display_name} yielded {_describe(delta)}; wanted: a Delta")
                ended = ended or delta.finish_reason is not None
                yield delta
        if not ended:
            yield Delta(finish_reason="stop", usage=Usage())


class _CheckedSynthesizer:
    """Check of audio: a playable format at a known rate."""

    _display_name = ""
    rate_hz: int

    async def start(self) -> None:
        await cast("SynthesizerEngine", super()).start()
        rate_hz = getattr(self, "rate_hz", None)
        if not isinstance(rate_hz, int) or not RATES_HZ[0] <= rate_hz <= RATES_HZ[1]:
            wanted = f"an int from {RATES_HZ[0]} to {RATES_HZ[1]}"
            raise SynthesizerError(f"{self._display_name}: rate_hz is {rate_hz!r}; wanted: {wanted}")

    async def speak(self, text: str, *settings: VoiceSettings) -> AsyncGenerator[Speech, None]:
        # only engines that declare voices or speeds get `settings`
        engine = cast("Any", super())
        async with _stream(engine.speak, self._display_name, SynthesizerError, text, *settings) as speeches:
            async for speech in speeches:
                if not isinstance(speech, Speech):
                    wanted = "a Speech, which has samples"
                    raise SynthesizerError(
                        f"{self._display_name} yielded {_describe(speech)}; wanted: {wanted}"
                    )
                yield Speech(_playable(speech.samples, self._display_name), speech.words)


_KINDS: dict[Stage, tuple[type, type]] = {
    "recognizer": (_CheckedRecognizer, RecognizerEngine),
    "llm": (_CheckedLlm, LlmEngine),
    "synthesizer": (_CheckedSynthesizer, SynthesizerEngine),
}


@asynccontextmanager
async def _stream(
    method: Any, name: str, failure: type[Exception], *arguments: Any
) -> AsyncIterator[AsyncIterator[Any]]:
    """Call a generator method of the engine `name`, and close it at the end.

    Converts any exception to `failure`.
    """
    called = f"{name}.{method.__name__}()"
    try:
        stream = method(*arguments)
        if not hasattr(stream, "aclose"):
            raise failure(
                f"{called} gave {_describe(stream)}; wanted: an async generator, which yields what it makes"
            )
        async with aclosing(stream):
            yield stream
    except (RecognizerError, LlmError, SynthesizerError):
        raise
    except Exception as error:  # custom code may raise anything
        message = f"{called} raised {type(error).__name__}: {error}; at {_source_line(error, method)}"
        raise failure(message) from error


def _source_line(error: Exception, method: Any) -> str:
    """Return file and line of the error's innermost frame in the engine's own file, else of any."""
    frames = traceback.extract_tb(error.__traceback__)
    own = getattr(sys.modules.get(method.__module__), "__file__", None)
    frame = next((frame for frame in reversed(frames) if frame.filename == own), frames[-1])
    return f"{Path(frame.filename).name}:{frame.lineno}"


def _playable(samples: object, name: str) -> Samples:
    """Return audio [n] as int16; floats from -1 to 1 are scaled. Raises SynthesizerError."""
    wanted = "one channel [n] of int16, or of floats from -1 to 1"
    if not isinstance(samples, np.ndarray) or samples.ndim != 1:
        raise SynthesizerError(f"{name} yielded audio as {_describe(samples)}; wanted: {wanted}")
    if samples.dtype == np.int16:
        return samples
    if samples.dtype.kind != "f":
        raise SynthesizerError(f"{name} yielded audio as {_describe(samples)}; wanted: {wanted}")
    loudest = float(np.max(np.abs(samples))) if len(samples) else 0.0
    if not loudest <= 1.0:  # NaN too
        found = f"{_describe(samples)} up to {loudest:g}"
        raise SynthesizerError(f"{name} yielded audio as {found}; wanted: {wanted}")
    return cast("Samples", np.rint(samples * _FULL_SCALE).astype(np.int16))


def _describe(value: object) -> str:
    """Describe a value in a few words."""
    if isinstance(value, np.ndarray):
        return f"an array {list(value.shape)} of {value.dtype}"
    return f"{type(value).__name__} {value!r:.40}" if isinstance(value, str) else type(value).__name__
