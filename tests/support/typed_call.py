"""A call without sound: questions are typed, one after the other."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator

import numpy as np
from fake_client import FakeClient

from audio.pcm import Samples
from audio.recognizers import Flush, Hypothesis
from audio.synthesizers import Speech
from voiceagent.conversation import events as ev
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.history import MessageItem
from voiceagent.session.session import Session


class Deaf:
    """A recognizer and a synthesizer for a call without sound."""

    rate_hz = 24_000

    async def start(self) -> None: ...

    async def close(self) -> None: ...

    async def recognize(self, sound: AsyncIterator[Samples | Flush]) -> AsyncGenerator[Hypothesis, None]:
        async for item in sound:
            if isinstance(item, Flush):
                yield Hypothesis("", settled=True)

    async def speak(self, text: str) -> AsyncGenerator[Speech, None]:
        yield Speech(np.zeros(240, np.int16))


class Mouth(Deaf):
    """Synthesizer that records its texts."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    async def speak(self, text: str) -> AsyncGenerator[Speech, None]:
        self.texts.append(text)
        yield Speech(np.zeros(240, np.int16))


async def ask(session: Session, client: FakeClient, number: int, words: str) -> None:
    """One typed question, and its answer to the end."""
    session.handle(ev.ItemCreated(MessageItem(f"q{number}", "user", words)))
    session.handle(ev.ResponseRequested())
    await client.until(lambda: len(client.of(notify.NotifyResponseEnded)) > number)
    assert client.of(notify.NotifyResponseEnded)[-1].status == "completed"
