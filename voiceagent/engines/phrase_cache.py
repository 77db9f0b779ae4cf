"""Phrases that were spoken before: greetings, fillers, answers that come again cost nothing.

All are kept in memory; the least recently used go first. Only the fixed phrases of configuration and agent go
to disk: others may repeat what a caller said, such as a name.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable, Collection
from contextlib import aclosing
from dataclasses import replace
from hashlib import sha256
from typing import Literal

import numpy as np

from audio.synthesizers import Speech, Synthesizer, applicable, known_voices, speak_with, takes_speed
from audio.synthesizers.voices import USUAL_SETTINGS, KnownVoices, VoiceSettings
from voiceagent.engines.phrase_files import PhraseFiles

CacheResult = Literal["memory", "disk", "miss"]
_CHUNK_S = 0.2
MEMORY_BYTES = 64_000_000
"""Audio that each process that handles calls keeps in memory."""
DISK_BYTES = 256_000_000
"""Audio kept on disk between starts, in `voiceagent/phrases` of the user's cache. Only phrases of the
configuration and the agent's class are stored, as others may repeat what callers said.
"""


class CachedSynthesizer:
    """A synthesizer with a cache before it. inner: the synthesizer.

    voice: identifies everything that its sound depends on but the text. files: None keeps nothing on disk.
    fixed: texts that may be stored on disk. count: called with the result of each look-up.
    """

    def __init__(
        self,
        inner: Synthesizer,
        voice: str,
        memory_bytes: int,
        files: PhraseFiles | None,
        fixed: Collection[str] = (),
        count: Callable[[CacheResult], None] = lambda _: None,
    ) -> None:
        self.inner = inner
        self.rate_hz = 0
        self._voice = voice
        self._memory = _Memory(memory_bytes)
        self._files = files
        self._fixed = frozenset(fixed)
        self._count = count
        self._saving: set[asyncio.Task[None]] = set()

    @property
    def in_workers(self) -> bool:
        """True if each worker has its own synthesizer."""
        return getattr(self.inner, "in_workers", False)

    @property
    def takes_speed(self) -> bool:
        return takes_speed(self.inner)

    @property
    def known_voices(self) -> KnownVoices:
        return known_voices(self.inner)

    async def start(self) -> None:
        """Start the synthesizer. Raises SynthesizerError."""
        try:
            await self.inner.start()
        finally:  # a remote one may be used although its server could not be reached
            self.rate_hz = getattr(self.inner, "rate_hz", 0)

    async def close(self) -> None:
        """Close the synthesizer and finish writing; a second call does nothing."""
        await self.inner.close()
        await asyncio.gather(*self._saving)

    async def speak(
        self, text: str, settings: VoiceSettings = USUAL_SETTINGS
    ) -> AsyncGenerator[Speech, None]:
        """Speak one fragment from the cache, or from the synthesizer. Raises SynthesizerError."""
        spoken = text.strip()
        before = len(text) - len(text.lstrip())
        applied = applicable(self.inner, settings)
        key = self._key(spoken, applied)
        if (phrase := await self._found(key)) is not None:
            for speech in _chunks(phrase, round(_CHUNK_S * self.rate_hz)):
                yield _shifted(speech, before)
            return
        self._count("miss")
        made: list[Speech] = []
        async with aclosing(speak_with(self.inner, spoken, applied)) as speeches:
            async for speech in speeches:
                made.append(speech)
                yield _shifted(speech, before)
        if made:  # all of it: a text that is given up in the middle does not come here
            phrase = _joined(made)
            self._memory.put(key, phrase)
            if self._files is not None and spoken in self._fixed:
                self._save(self._files, key, phrase)

    async def _found(self, key: str) -> Speech | None:
        phrase = self._memory.get(key)
        if phrase is not None:
            self._count("memory")
            return phrase
        if self._files is None or not self._files.has(key):
            return None
        phrase = await asyncio.to_thread(self._files.read, key, self.rate_hz)
        if phrase is not None:
            self._count("disk")
            self._memory.put(key, phrase)
        return phrase

    def _save(self, files: PhraseFiles, key: str, phrase: Speech) -> None:
        task = asyncio.create_task(asyncio.to_thread(files.write, key, self.rate_hz, phrase))
        self._saving.add(task)
        task.add_done_callback(self._saving.discard)

    def _key(self, text: str, settings: VoiceSettings) -> str:
        name = f"{self._voice}\n{self.rate_hz}\n{settings.voice}\n{settings.speed}\n{text}"
        return sha256(name.encode()).hexdigest()


class _Memory:
    """Phrases by key, at most `limit` bytes of sound; the least recently used go first."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._bytes = 0
        self._phrases: OrderedDict[str, Speech] = OrderedDict()

    def get(self, key: str) -> Speech | None:
        phrase = self._phrases.get(key)
        if phrase is not None:
            self._phrases.move_to_end(key)
        return phrase

    def put(self, key: str, phrase: Speech) -> None:
        self._remove(key)
        self._phrases[key] = phrase
        self._bytes += phrase.samples.nbytes
        while self._bytes > self._limit:
            self._remove(next(iter(self._phrases)))

    def _remove(self, key: str) -> None:
        phrase = self._phrases.pop(key, None)
        if phrase is not None:
            self._bytes -= phrase.samples.nbytes


def _joined(speeches: list[Speech]) -> Speech:
    samples = np.concatenate([speech.samples for speech in speeches])
    return Speech(samples, tuple(word for speech in speeches for word in speech.words))


def _chunks(phrase: Speech, length: int) -> list[Speech]:
    """Return a phrase's sound in chunks, each with the words that begin in it."""
    count, words = len(phrase.samples), list(phrase.words)
    chunks = []
    for begin in range(0, max(count, 1), length):
        last = begin + length >= count
        here = [word for word in words if last or word.at_samples < begin + length]
        words = words[len(here) :]
        chunks.append(Speech(phrase.samples[begin : begin + length], tuple(here)))
    return chunks


def _shifted(speech: Speech, characters: int) -> Speech:
    if not characters or not speech.words:
        return speech
    words = tuple(replace(word, character=word.character + characters) for word in speech.words)
    return replace(speech, words=words)
