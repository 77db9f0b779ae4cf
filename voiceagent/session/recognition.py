"""Recognition of one turn of the caller: one run of the recognizer."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from audio.pcm import Samples
from audio.recognizers import (
    NOTHING_EXPECTED,
    SAMPLE_RATE_HZ,
    ExpectedSpeech,
    Flush,
    Hypothesis,
    Recognizer,
    RecognizerError,
    recognize_expecting,
)
from voiceagent.conversation.events import Event, RecognitionFailed, TranscriptChanged
from voiceagent.conversation.turn.seam import divide
from voiceagent.session.references import outcome
from voiceagent.telemetry.call_ids import enter_work

BEHIND_S = 60.0
"""Seconds of audio that a recognizer may be behind before its turn is given up."""


class TurnRecognition:
    """Recognition of one turn: audio is pushed, hypotheses are posted.

    After a false end of turn it may continue as the recognition of the turn that resumes this one.

    fault: called with unexpected exceptions. expected: see `recognize_expecting`. pushed_to: sample of the
    call up to which audio was pushed, set when the turn ends.
    """

    def __init__(
        self,
        item_id: str,
        recognizer: Recognizer,
        post: Callable[[Event], None],
        fault: Callable[[str, BaseException], None],
        expected: ExpectedSpeech = NOTHING_EXPECTED,
    ) -> None:
        self.item_id = item_id
        self.pushed_to = 0
        self._text = ""  # of this turn
        self._earlier: tuple[str, ...] = ()  # of the turns that it resumes
        self._fault = fault
        self._recognizer = recognizer
        self._expected = expected
        self._post = post
        self._sound: deque[Samples | Flush] = deque()
        self._waiting_samples = 0
        self.awaited = 0  # settled hypotheses that were requested and have not arrived
        self._more = asyncio.Event()
        self.task = asyncio.create_task(self._recognize(), name=f"recognize {item_id}")
        self.task.add_done_callback(outcome)

    def push(self, sound: Samples) -> bool:
        """Push audio. Return False if the recognizer is too far behind."""
        if self._waiting_samples + len(sound) > BEHIND_S * SAMPLE_RATE_HZ:
            return False
        self._waiting_samples += len(sound)
        self._sound.append(sound)
        self._more.set()
        return True

    def flush(self, flush: Flush) -> None:
        """Request a settled hypothesis of the audio so far."""
        self.awaited += 1
        self._sound.append(flush)
        self._more.set()

    def end_turn(self, committed: bool) -> None:
        """End the turn, but keep its recognition open. committed: it is an item of the conversation."""
        if committed:
            self._earlier = (*self._earlier, self._text)
        self._text = ""

    @property
    def open(self) -> bool:
        """True until the recognition has failed."""
        return not self.task.done()

    def stop(self) -> None:
        """Cancel the recognition."""
        self.task.cancel()

    async def _recognize(self) -> None:
        enter_work(turn=self.item_id, response="")
        try:
            async with aclosing(
                recognize_expecting(self._recognizer, self._take(), self._expected)
            ) as hypotheses:
                async for hypothesis in hypotheses:
                    self.awaited -= hypothesis.settled
                    self._post(self._changed(hypothesis))
        except RecognizerError as error:
            self._post(RecognitionFailed(self.item_id, str(error)))
        except Exception as error:  # on any failure the turn ends without a transcript
            self._fault("recognition", error)
            self._post(RecognitionFailed(self.item_id, f"{type(error).__name__}: see the log"))

    def _changed(self, hypothesis: Hypothesis) -> TranscriptChanged:
        *earlier, self._text = divide(hypothesis.text, self._earlier) if self._earlier else (hypothesis.text,)
        words = sum(len(text.split()) for text in earlier)
        return TranscriptChanged(
            self.item_id,
            self._text,
            " ".join(hypothesis.stable.split()[words:]) if earlier else hypothesis.stable,
            hypothesis.settled,
            hypothesis.confidence,
            hypothesis.complete,
            tuple(earlier),
            hypothesis.languages if hypothesis.settled else (),
        )

    async def _take(self) -> AsyncGenerator[Samples | Flush, None]:
        while True:
            while self._sound:
                item = self._sound.popleft()
                if not isinstance(item, Flush):
                    self._waiting_samples -= len(item)
                yield item
            self._more.clear()
            await self._more.wait()
