"""The agent's voice in virtual time: its answers are spoken before the calls."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence

from people.offline import QuickSynthesizer

from audio.synthesizers import Speech, Synthesizer
from voiceagent.conversation.fragments import Fragmenter


class SpokenAnswers(QuickSynthesizer):
    """Speaks prepared fragments in no time, and all other texts as a tone. spoken: by fragment."""

    def __init__(self, rate_hz: int, spoken: dict[str, list[Speech]]) -> None:
        self.rate_hz = rate_hz
        self._spoken = spoken

    async def speak(self, text: str) -> AsyncGenerator[Speech, None]:
        """Yield the audio of the fragment, or a tone."""
        if (speeches := self._spoken.get(text.strip())) is None:
            async for tone in super().speak(text):
                yield tone
            return
        for speech in speeches:
            yield speech


async def speak_answers(synthesizer: Synthesizer, answers: Sequence[str]) -> SpokenAnswers:
    """Return the voice of a started synthesizer with these answers spoken. Raises SynthesizerError."""
    spoken: dict[str, list[Speech]] = {}
    for answer in answers:
        fragmenter = Fragmenter()
        for one in (*fragmenter.push(answer), *fragmenter.finish()):
            spoken[one.spoken.strip()] = [speech async for speech in synthesizer.speak(one.spoken)]
    return SpokenAnswers(synthesizer.rate_hz, spoken)
