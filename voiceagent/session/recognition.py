"""Recognition of the caller's turns: one run of the recognizer for each."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass

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
from voiceagent.conversation.events import Event, RecognitionFailed, TranscriptChanged, TranscriptRevised
from voiceagent.conversation.settings import CallSettings
from voiceagent.conversation.turn.seam import divide
from voiceagent.session.call_monitor import CallMonitor
from voiceagent.session.references import outcome, until_stopped, weak_callback
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
        self._over = False  # no more audio will come
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

    def finish(self) -> None:
        """End the audio: no voice has resumed the turn. `TranscriptRevised` is posted if the last hypothesis
        has other words.
        """
        self._over = True
        self._more.set()

    def stop(self) -> None:
        self.task.cancel()

    async def _recognize(self) -> None:
        enter_work(turn=self.item_id, response="")
        try:
            async with aclosing(
                recognize_expecting(self._recognizer, self._queued_audio(), self._expected)
            ) as hypotheses:
                async for hypothesis in hypotheses:
                    if self._over:
                        self._revise(hypothesis.text)
                        continue
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

    def _revise(self, text: str) -> None:
        """Post the last hypothesis, divided among the turns, if it has other words."""
        revised = divide(text, self._earlier[:-1])
        if text and revised != self._earlier:
            self._post(TranscriptRevised(self.item_id, revised[-1], revised[:-1]))

    async def _queued_audio(self) -> AsyncGenerator[Samples | Flush, None]:
        while not self._over:
            while self._sound:
                item = self._sound.popleft()
                if not isinstance(item, Flush):
                    self._waiting_samples -= len(item)
                yield item
            self._more.clear()
            await self._more.wait()


@dataclass(frozen=True, slots=True)
class ResumableTurn:
    """A turn that is over, whose recognition is still open.

    item_id: as in `StartRecognition.continues`. until_s: position of the audio from which no voice resumes
    the turn.
    """

    recognition: TurnRecognition
    item_id: str
    until_s: float


class TurnRecognitions:
    """Recognitions of one call: of the turn in progress, of turns whose transcript is not settled, and of one
    that is over but may be resumed.

    post: receives their events. monitor: timeouts and faults of the call. second_opinions: at the end of an
    utterance the recognizer decodes it once more, better.
    """

    def __init__(
        self,
        recognizer: Recognizer,
        settings: CallSettings,
        post: Callable[[Event], None],
        monitor: CallMonitor,
        second_opinions: bool = False,
    ) -> None:
        self.settings = settings
        self.active: TurnRecognition | None = None
        """Recognition of the turn in progress, if any."""
        self.resumable: ResumableTurn | None = None
        """The previous turn, if a voice may still resume it."""
        self._recognizer = recognizer
        self._post = post
        self._monitor = monitor
        self._second_opinions = second_opinions
        self._by_item: dict[str, TurnRecognition] = {}
        self._finishing: TurnRecognition | None = None  # one that no voice can resume any more

    def resume(self, item_id: str, continues: str) -> TurnRecognition | None:
        """Continue the recognition of the turn `continues` as that of this item, and return it. If it is no
        longer open, return None.
        """
        resumable, self.resumable = self.resumable, None
        if resumable is None:
            return None
        recognition = resumable.recognition
        if resumable.item_id != continues or not recognition.open:
            recognition.stop()
            return None
        recognition.item_id = item_id
        self._by_item[item_id] = self.active = recognition
        return recognition

    def start(self, item_id: str, sound: Samples) -> None:
        """Start recognition of the turn in progress, which begins with this audio, [n] at 16 kHz."""
        self.active = self._open(item_id, sound)

    def recognize_item(self, item_id: str, sound: Samples) -> None:
        """Start recognition of an item's audio, [n] at 16 kHz, and request its final transcript."""
        self._open(item_id, sound)
        self.flush(item_id, Flush())

    def _open(self, item_id: str, sound: Samples) -> TurnRecognition:
        settings = self.settings
        expected = ExpectedSpeech(
            settings.language, bool(settings.fixed_language), settings.likely_phrases, settings.likely_words
        )
        post, fault = weak_callback(self._recognized), self._monitor.fault
        recognition = TurnRecognition(item_id, self._recognizer, post, fault, expected)
        recognition.push(sound)
        self._by_item[item_id] = recognition
        return recognition

    def push(self, sound: Samples) -> None:
        """Push audio to the recognition of the turn in progress, if any."""
        if self.active is not None and not self.active.push(sound):
            reason = f"the recognizer is more than {BEHIND_S:.0f} s behind the caller"
            self.fail(self.active.item_id, reason)

    def flush(self, item_id: str, flush: Flush) -> None:
        """Request a settled hypothesis of the turn, and start its timeout."""
        if recognition := self._by_item.get(item_id):
            recognition.flush(flush)
            limit_s = self._monitor.limits.transcript_s
            self._monitor.start_timeout(item_id, "recognizer", "settled words", limit_s)

    def stop(self, item_id: str, resumable_as: str = "", until_s: float = 0.0) -> None:
        """Close the turn's recognition, or keep it open up to a position: see `StopRecognition`."""
        recognition = self._by_item.pop(item_id, None)
        self._monitor.cancel_timeout(item_id, "recognizer")
        if recognition is None:
            return
        if self.active is recognition:
            self.active = None
        if resumable_as and recognition.open and not recognition.awaited:
            self.close_resumable()
            recognition.end_turn(committed=resumable_as == item_id)
            self.resumable = ResumableTurn(recognition, resumable_as, until_s)
        else:
            recognition.stop()

    def close_resumable(self) -> None:
        """Close the recognition that a voice could have resumed, if any."""
        resumable, self.resumable = self.resumable, None
        if resumable is not None:
            resumable.recognition.stop()

    def finish_resumable(self) -> None:
        """End the recognition that a voice could have resumed, if any: its time is over."""
        resumable, self.resumable = self.resumable, None
        if resumable is None:
            return
        if not self._second_opinions or resumable.item_id != resumable.recognition.item_id:
            resumable.recognition.stop()
            return
        if self._finishing is not None:
            self._finishing.stop()
        self._finishing = resumable.recognition
        self._finishing.finish()

    def fail(self, item_id: str, reason: str) -> None:
        recognition = self._by_item.get(item_id)
        if recognition is not None:
            recognition.stop()
            if self.active is recognition:
                self.active = None
            self._recognized(RecognitionFailed(item_id, reason))

    def _recognized(self, event: Event) -> None:
        match event:
            case TranscriptChanged(item_id=item_id, settled=True) | RecognitionFailed(item_id=item_id):
                recognition = self._by_item.get(item_id)
                if recognition is None or not recognition.awaited:
                    self._monitor.cancel_timeout(item_id, "recognizer")
        self._post(event)

    async def close(self) -> None:
        """Stop all recognitions and wait until they have stopped."""
        tasks = [recognition.task for recognition in self._by_item.values()]
        if self.resumable is not None:
            tasks.append(self.resumable.recognition.task)
            self.resumable = None
        if self._finishing is not None:
            tasks.append(self._finishing.task)
        self._by_item.clear()
        for task in tasks:
            task.cancel()
        await until_stopped(tasks)
