"""Set phrases (apology, refusal, filler) in the voices and speeds of calls."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass

from audio.synthesizers import Speech, Synthesizer, SynthesizerError, speak_with
from audio.synthesizers.voices import USUAL_SETTINGS, VoiceSettings
from voiceagent.conversation.fragments import Fragment
from voiceagent.text_normalization import normalize

_MAX_SETTINGS = 32
"""Combinations of voice and speed with phrases of their own, some 0.3 MB each. Further ones have those of the
usual voice, so that clients cannot fill the memory.
"""


@dataclass(frozen=True, slots=True)
class SetPhrase:
    """A phrase with its audio, synthesised at start so that it needs no engine."""

    fragment: Fragment
    sound: tuple[Speech, ...]


class VoicedPhrases:
    """Set phrases by voice and speed, synthesised when a call first asks for these; shared by all calls."""

    def __init__(
        self, synthesizer: Synthesizer, phrases: Sequence[SetPhrase], usual: VoiceSettings = USUAL_SETTINGS
    ) -> None:
        """Start with none. phrases: in the usual voice. usual: its settings."""
        self._synthesizer = synthesizer
        self._usual = usual
        self._phrases = phrases
        self._made: dict[VoiceSettings, dict[str, SetPhrase]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def prepare(self, settings: VoiceSettings) -> None:
        """Start to synthesise the phrases with these settings, if that was not done before."""
        if settings == self._usual or settings in self._made or len(self._made) >= _MAX_SETTINGS:
            return
        self._made[settings] = {}
        task = asyncio.create_task(self._make(settings), name="phrases of a voice")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def find(self, phrase: SetPhrase, settings: VoiceSettings) -> SetPhrase:
        """Return a phrase with these settings; in the usual voice until it is made."""
        return self._made.get(settings, {}).get(phrase.fragment.text, phrase)

    async def _make(self, settings: VoiceSettings) -> None:
        for phrase in self._phrases:
            with suppress(SynthesizerError):  # responses of the call fail too, and report it
                sound = await _spoken(self._synthesizer, phrase.fragment.spoken, settings)
                self._made[settings][phrase.fragment.text] = SetPhrase(phrase.fragment, sound)


async def make_phrase(
    text: str, language: str, synthesizer: Synthesizer, voice: VoiceSettings = USUAL_SETTINGS
) -> SetPhrase:
    """Synthesise a phrase that can be played at any time. Raises SynthesizerError."""
    text = f" {text} "  # it may stand between other words of a response
    spoken, alignment = normalize(text, language)
    return SetPhrase(Fragment(text, spoken, alignment), await _spoken(synthesizer, spoken, voice))


async def _spoken(synthesizer: Synthesizer, text: str, settings: VoiceSettings) -> tuple[Speech, ...]:
    async with aclosing(speak_with(synthesizer, text, settings)) as speeches:
        return tuple([speech async for speech in speeches])
