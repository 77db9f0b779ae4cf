"""Turns that no voice can resume any more are recognized to the end, for a second opinion."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator

import numpy as np
from call_services import call_monitor
from call_settings import call_settings

from audio.pcm import Samples
from audio.recognizers import Flush, Hypothesis
from voiceagent.conversation.events import Event, TranscriptRevised
from voiceagent.session.recognition import TurnRecognitions

SOUND = np.zeros(1600, np.int16)


class Ears:
    """Understands each text at a flush, and the last one at the end. ended: utterances whose audio ended."""

    def __init__(self, *texts: str) -> None:
        self._texts = texts
        self.ended = 0

    async def start(self) -> None: ...

    async def close(self) -> None: ...

    async def recognize(self, sound: AsyncIterator[Samples | Flush]) -> AsyncGenerator[Hypothesis, None]:
        texts = iter(self._texts)
        async for item in sound:
            if isinstance(item, Flush):
                yield Hypothesis(next(texts), settled=True)
        self.ended += 1
        yield Hypothesis(self._texts[-1], settled=True)


class Call:
    """The recognitions of a call, and what they post."""

    def __init__(self, ears: Ears, second_opinions: bool = True) -> None:
        self.events: list[Event] = []
        self.recognitions = TurnRecognitions(
            ears, call_settings(), self.events.append, call_monitor(), second_opinions
        )

    async def turn(self, item_id: str, continues: str = "", resumable_as: str = "") -> None:
        """A turn that is over."""
        resumed = self.recognitions.resume(item_id, continues) if continues else None
        if resumed is None:
            self.recognitions.start(item_id, SOUND)
        self.recognitions.flush(item_id, Flush())
        await asyncio.sleep(0.01)
        self.recognitions.stop(item_id, resumable_as or item_id, 3.0)

    async def revised(self) -> list[Event]:
        """The events after the time in which a voice resumes the turn."""
        before = len(self.events)
        self.recognitions.finish_resumable()
        await asyncio.sleep(0.01)
        await self.recognitions.close()
        return self.events[before:]


async def test_other_words_are_posted() -> None:
    call = Call(Ears("a pull", "a pool"))
    await call.turn("item_1")
    assert await call.revised() == [TranscriptRevised("item_1", "a pool")]


async def test_the_same_words_are_not() -> None:
    call = Call(Ears("a pool", "a pool"))
    await call.turn("item_1")
    assert await call.revised() == []


async def test_words_of_resumed_turns_are_divided() -> None:
    call = Call(
        Ears("do you have a pull or", "do you have a pull or a sour now", "do you have a pool or a sauna")
    )
    await call.turn("item_1")
    await call.turn("item_2", continues="item_1")
    assert await call.revised() == [TranscriptRevised("item_2", "a sauna", ("do you have a pool or",))]


async def test_a_voice_that_was_no_turn_leaves_the_words() -> None:
    call = Call(ears := Ears("a pull", "a pull uh", "a pool uh"))
    await call.turn("item_1")
    await call.turn("item_2", continues="item_1", resumable_as="item_1")
    assert await call.revised() == []
    assert ears.ended == 0


async def test_recognizers_without_second_opinions_are_stopped() -> None:
    call = Call(ears := Ears("a pull", "a pool"), second_opinions=False)
    await call.turn("item_1")
    assert await call.revised() == []
    assert ears.ended == 0
