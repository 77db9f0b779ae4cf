"""Languages of engines: passed to an engine that takes it, else checked; and a synthesizer for each."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import numpy as np

from audio.pcm import Samples
from audio.resample import Resampler
from audio.synthesizers import Speech, Synthesizer, WordTiming, known_voices, speak_with, takes_speed
from audio.synthesizers.voices import USUAL_SETTINGS, KnownVoices, VoiceSettings
from voiceagent.engines.catalogue import KnownEngine

_CODE = re.compile(r"([a-z]{2})(?![A-Za-z])")
_NORWEGIAN = {"nb": "no", "nn": "no"}
"""Codes of Norwegian, for which engines use one of three."""


class OtherLanguage(ValueError):
    """The engine's language differs from the agent's. key: in the engine's table. value: found there."""

    def __init__(self, key: str, value: object, message: str) -> None:
        super().__init__(message)
        self.key, self.value = key, value


def in_language(
    known: KnownEngine | None,
    engine_class: type,
    name: str,
    options: Mapping[str, Any],
    language: str,
    others: Sequence[str] = (),
) -> dict[str, Any]:
    """Return an engine's keyword arguments with the agent's language added where needed. Raises
    OtherLanguage.

    known: the engine's catalogue entry, None for a custom one. name: as in the configuration. options: its
    keyword arguments there. language: the agent's, an ISO 639 code; "" for any. others: further ones that the
    same engine must have.
    """
    arguments = dict(options)
    if not language:
        return arguments
    fixed = _fixed_languages(known, engine_class, options)
    if fixed and language not in fixed:
        allowed = f"allowed: agent.language {' or '.join(fixed)}, or an engine or model that has it"
        raise OtherLanguage("engine", name, f"does not have the agent's language, {language!r}; {allowed}")
    if others:
        _check_several(known, name, arguments, fixed, (language, *others))
        if known is not None and known.languages_key:
            return {known.languages_key: (language, *others), **arguments}
    key = known.language_key if known is not None else ""
    if key in options:
        other = _language_in(options[key])
        if other and _canonical(other) != _canonical(language):
            message = f"is of the language {other!r}, and agent.language is {language!r}"
            raise OtherLanguage(key, options[key], f"{message}; allowed: the same in both")
    elif known is not None and known.takes_language and language != "en":  # English is the engines' default
        arguments[key] = language
    return arguments


def _check_several(
    known: KnownEngine | None,
    name: str,
    options: Mapping[str, Any],
    fixed: Sequence[str],
    languages: Sequence[str],
) -> None:
    """Raise OtherLanguage unless an engine can have all these languages in one call."""
    for code in languages:
        if fixed and code not in fixed:
            allowed = f"allowed: an engine that has it; for its voice alone, [languages.{code}.synthesizer]"
            raise OtherLanguage("engine", name, f"does not have {code!r}, a language of calls; {allowed}")
    if known is None or known.has_several_languages or known.languages_key:
        return
    if known.stage == "recognizer" and known.language_key in options:  # as its vendor calls detection
        return
    remedy = (
        f"[languages.{languages[1]}.synthesizer]"
        if known.stage == "synthesizer"
        else f'{known.language_key} with the value for detection ("multi" of deepgram, "" of openai)'
    )
    raise OtherLanguage("engine", name, f"has one language at a time, and calls have several; set {remedy}")


def voices_for(voices: Mapping[str, str], language: str) -> dict[str, str]:
    """Return the key `voices` of a table, with the voice of the agent's language as the usual one, "".

    Its names are those that clients and agents ask for, and codes of languages.
    """
    return {**voices, "": voices[language]} if language in voices else dict(voices)


def _fixed_languages(
    known: KnownEngine | None, engine_class: type, options: Mapping[str, Any]
) -> tuple[str, ...]:
    """Return the only languages of an engine, () if unknown."""
    if known is not None and known.model_key not in options:
        return known.languages
    return getattr(engine_class, "languages", ())


def _language_in(value: object) -> str:
    """Return the code that a value begins with, as "de" in "de-CH", "de+f2" and "de_DE-thorsten"; else ""."""
    found = _CODE.match(value) if isinstance(value, str) else None
    return found[1] if found else ""


def _canonical(code: str) -> str:
    return _NORWEGIAN.get(code, code)


_NO_AUDIO: Samples = np.zeros(0, np.int16)


class SynthesizerByLanguage:
    """The usual synthesizer, and others by ISO 639 code, which `VoiceSettings.language` chooses.

    rate_hz: the usual one's; audio of the others is resampled. Known once started.
    """

    rate_hz: int
    takes_speed = False
    known_voices = KnownVoices()
    """Those of all engines; each resolves the names that clients ask for."""

    def __init__(self, usual: Synthesizer, others: Mapping[str, Synthesizer]) -> None:
        self.usual = usual
        self.others = others
        self.further_languages = tuple(others)

    async def start(self) -> None:
        """Start all engines concurrently. Raises SynthesizerError."""
        await asyncio.gather(*(engine.start() for engine in self._engines))
        self.rate_hz, self.takes_speed = self.usual.rate_hz, any(map(takes_speed, self._engines))
        known = [known_voices(engine).as_asked() for engine in self._engines]
        names = dict.fromkeys(name for voices in known for name in voices.names)
        self.known_voices = KnownVoices(tuple(names), "|".join(filter(None, (one.pattern for one in known))))

    async def close(self) -> None:
        """Close all engines; a second call does nothing."""
        await asyncio.gather(*(engine.close() for engine in self._engines))

    async def speak(
        self, text: str, settings: VoiceSettings = USUAL_SETTINGS
    ) -> AsyncGenerator[Speech, None]:
        """Speak one fragment with the engine of its language. Raises SynthesizerError."""
        engine = self.others.get(settings.language, self.usual)
        from_hz, to_hz = engine.rate_hz, self.rate_hz
        resampler = Resampler(from_hz, to_hz) if from_hz != to_hz else None
        async with aclosing(speak_with(engine, text, replace(settings, language=""))) as speeches:
            async for speech in speeches:
                yield speech if resampler is None else _resampled(speech, resampler, to_hz / from_hz)
        if resampler is not None and len(rest := resampler.push(_NO_AUDIO, last=True)):
            yield Speech(rest)

    @property
    def _engines(self) -> tuple[Synthesizer, ...]:
        return (self.usual, *self.others.values())


def _resampled(speech: Speech, resampler: Resampler, ratio: float) -> Speech:
    words = tuple(WordTiming(word.character, round(word.at_samples * ratio)) for word in speech.words)
    return Speech(resampler.push(speech.samples), words)
