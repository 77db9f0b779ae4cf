"""The caller's sound: through the front end into endpointing and recognition. Shell of one call."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from audio.detection.front_end_stream import Window
from audio.detection.smart_turn import MAX_TURN_S
from audio.interruption import reaches
from audio.pcm import Samples
from audio.recognizers import SAMPLE_RATE_HZ, Flush
from audio.speech_events import SpeechEvent, SpeechPaused, SpeechResumed
from voiceagent.conversation.events import (
    Event,
    RecognitionFailed,
    SpeechStarted,
    TranscriptChanged,
    TurnEnded,
)
from voiceagent.conversation.settings import CallSettings
from voiceagent.session.call_monitor import CallMonitor
from voiceagent.session.echo import EchoPath
from voiceagent.session.pace import Pace
from voiceagent.session.recognition import BEHIND_S, TurnRecognition
from voiceagent.session.references import until_stopped, weak_callback
from voiceagent.session.services import Hearing
from voiceagent.session.turn_detection import TurnDetector
from voiceagent.session.turn_judge import TurnJudge

KEPT_S = float(MAX_TURN_S)
"""Sound kept: what the turn model hears; a turn's beginning before it was noticed lies well within it."""
_KEPT_BYTES = round(KEPT_S * SAMPLE_RATE_HZ) * 2


class Listener:
    """Hears one caller. Events are posted; positions are seconds of sound since the call began.

    clock: monotonic seconds, when sound arrives. monitor: looks after the call.
    """

    def __init__(
        self,
        hearing: Hearing,
        clock: Callable[[], float],
        settings: CallSettings,
        post: Callable[[Event], None],
        monitor: CallMonitor,
    ) -> None:
        self._hearing = hearing
        self._monitor = monitor
        self._clock = clock
        self._settings = settings
        self._post = post
        self._arrived_s = clock()
        self._pace = Pace(hearing.input_buffer_s, self._arrived_s)
        self._item_pace = Pace(BEHIND_S, self._arrived_s)
        canceller = hearing.new_echo_canceller()
        self._echo = None if canceller is None else EchoPath(canceller, settings)
        self._arriving = hearing.front_end.open(
            self._arriving_hz, self._on_window, partial(monitor.fatal, "front end")
        )
        self._arriving.judged = settings.turn_detection is not None
        self._detector = TurnDetector(hearing.endpoint, settings.turn_detection)
        self._recent = bytearray()  # the newest `KEPT_S`, int16 at 16 kHz
        self._taken_samples = 0  # out of the front end, since the call began
        self._recognitions: dict[str, TurnRecognition] = {}
        self._fed: TurnRecognition | None = None
        self._held_from: int | None = None  # sample of the call from which on a pause is kept from it
        self._voiced_until_s = 0.0  # where that pause began
        self._judge = TurnJudge(hearing.turn_model, post, monitor)
        self._manual_since_s: float | None = None

    # ---- the caller's sound

    @property
    def received_s(self) -> float:
        """Seconds of sound received since the call began."""
        return self._taken_samples / SAMPLE_RATE_HZ + self._arriving.pending_s

    @property
    def awaits_silence(self) -> bool:
        """True if silence would change anything: a turn, or a possible turn, is in progress."""
        return self._detector.awaits_silence

    @property
    def buffered_s(self) -> float:
        """Seconds of sound in the turn that a client takes by hand."""
        return 0.0 if self._manual_since_s is None else self.received_s - self._manual_since_s

    def spoken_at_s(self, position_s: float) -> float:
        """When, by the clock, the caller spoke what lies there: the newest sound is spoken as it arrives."""
        return self._arrived_s - (self.received_s - position_s)

    def hear(self, samples: Samples, made: bool = False) -> None:
        """Take the caller's next sound, as `Call.hear` does. Raises InputOverflow."""
        now_s = self._clock()
        if not made:
            self._pace.take(len(samples) / self._settings.input_format.rate_hz, now_s)
        by_hand = self._settings.turn_detection is None and self._manual_since_s is None
        begins_s = self.received_s if by_hand else None
        # before the voice is looked for: an echo would interrupt the agent by its own words
        self._arriving.push(samples if self._echo is None else self._echo.clean(samples))
        self._arrived_s = now_s
        if begins_s is not None:
            self._manual_since_s = begins_s
            self._post(SpeechStarted(begins_s))
        if self._held_from is not None:  # in a pause
            self._look_ahead()

    def _on_window(self, window: Window) -> None:
        """Keep what the front end made of the next sound, have it recognized, and look for turns in it."""
        sound = window.sound
        self._taken_samples += len(sound)
        self._recent += sound.data
        if len(self._recent) > _KEPT_BYTES:
            # at each window, by memmove: a ring buffer would have to be copied in order for each question
            del self._recent[:-_KEPT_BYTES]
        if self._fed is not None and self._held_from is None:
            self._feed(sound)
        events = self._detector.push(window, self.received_s)
        if events:
            self._report(events)
        if self._held_from is not None:
            self._look_ahead()

    def _look_ahead(self) -> None:
        """End the turn with the frame that makes its silence long enough, and not with the next window."""
        due_in_s = self._detector.due_in_s
        if reaches(self._arriving.pending_s, due_in_s):
            self._report(self._detector.look_ahead(self._arriving.energies(due_in_s)))

    def _feed(self, sound: Samples) -> None:
        """Have the recognizer hear this of the turn in progress, if there is one."""
        if self._fed is not None and not self._fed.push(sound):
            self.give_up(self._fed.item_id, f"the recognizer is more than {BEHIND_S:.0f} s behind the caller")

    def _hold(self, event: SpeechEvent) -> None:
        """Keep a pause from the recognizer until the caller goes on: its words are settled, and silence would
        be decoded for nothing, at the time when the answer is made, and now and then into other words.
        """
        if isinstance(event, SpeechPaused):
            self._held_from, self._voiced_until_s = self._taken_samples, event.at_s
        elif self._held_from is not None and isinstance(event, SpeechResumed):
            held, self._held_from = self._since(self._held_from / SAMPLE_RATE_HZ), None
            self._feed(held)

    def _take_rest(self) -> None:
        """Take in the sound that waits for a whole window, or for the tick, without having it judged."""
        rest = self._arriving.drain()
        if len(rest):
            self._on_window(Window(rest, (), None))

    def configure(self, settings: CallSettings) -> None:
        """Go on with new settings; the sound received so far stays."""
        old, self._settings = self._settings, settings
        if old.input_format != settings.input_format:
            self._take_rest()
        if self._echo is not None:
            self._echo.configure(settings)
        if old.input_format != settings.input_format:
            self._arriving.change_rate(self._arriving_hz)
        if old.turn_detection != settings.turn_detection:
            self._restart_detector()

    def clear(self) -> None:
        """Forget the turn in progress."""
        self._take_rest()
        self._fed = self._held_from = None
        self._manual_since_s = None
        self._recent.clear()
        self._restart_detector()

    @property
    def _arriving_hz(self) -> int:
        """The rate of what is given to the front end: an echo canceller has a rate of its own."""
        return self._settings.input_format.rate_hz if self._echo is None else SAMPLE_RATE_HZ

    def _since(self, at_s: float) -> Samples:
        """What is kept of the caller's sound from there on, [n] at 16 kHz."""
        # a copy: a bytearray with a view on it could not grow
        kept = np.frombuffer(bytes(self._recent), np.int16)
        first = self._taken_samples - len(kept)
        return kept[max(0, round(at_s * SAMPLE_RATE_HZ) - first) :]

    # ---- the agent's sound

    def agent_plays(self, frame: Samples) -> None:
        """The agent's sound that is being sent, at the rate of the output format: what an echo would be of,
        and what a voice that begins now is spoken over.
        """
        self._detector.agent_plays(self.received_s)
        if self._echo is not None:
            self._echo.play(frame)

    def agent_stops(self) -> None:
        """What was sent of the agent's sound and not played was dropped."""
        if self._echo is not None:
            self._echo.stop()

    # ---- where speech starts, pauses and ends

    def require_silence(self, seconds: float, more_s: float = 0.0) -> None:
        """Let the pause in progress end the turn after so many seconds of silence and `more_s` more."""
        self._report(self._detector.require_silence(seconds, more_s))
        self._look_ahead()

    def _report(self, events: list[SpeechEvent]) -> None:
        for event in events:
            if isinstance(event, TurnEnded):
                self._fed = self._held_from = None
            self._hold(event)
            self._post(event)

    def _restart_detector(self) -> None:
        self._held_from = None
        self._take_rest()
        self._arriving.reset()
        self._arriving.judged = self._settings.turn_detection is not None
        self._detector.restart(self._settings.turn_detection, self.received_s)

    # ---- what the caller says

    def start_recognition(self, item_id: str, at_s: float, not_before_s: float = 0.0) -> None:
        """Recognize the turn that began at `at_s`, with the prefix padding, but nothing before
        `not_before_s`.
        """
        detection = self._settings.turn_detection
        padding_s = detection.prefix_padding_s if detection else 0.0
        recognition = TurnRecognition(
            item_id, self._hearing.recognizer, weak_callback(self._recognized), self._monitor.fault
        )
        # from before the voice was noticed: "s" and "f" begin too softly to be voiced
        recognition.push(self._since(max(at_s - padding_s, not_before_s)))
        self._recognitions[item_id] = self._fed = recognition

    def admit_item(self, sound: Samples) -> None:
        """Count the sound of an item, [n] at 16 kHz, against the input rate limit. Raises InputOverflow."""
        self._item_pace.take(len(sound) / SAMPLE_RATE_HZ, self._clock())

    def recognize_item(self, item_id: str, sound: Samples) -> None:
        """Recognize the sound of an item, [n] at 16 kHz, and request its final transcript."""
        recognition = TurnRecognition(
            item_id, self._hearing.recognizer, weak_callback(self._recognized), self._monitor.fault
        )
        self._recognitions[item_id] = recognition
        recognition.push(sound)
        recognition.flush(Flush())
        self._monitor.begin(item_id, "recognizer", "settled words", self._monitor.limits.transcript_s)

    def flush_recognition(self, item_id: str, number: bool) -> None:
        """Ask for a settled hypothesis of the turn. number: as `Flush` has it."""
        if self._settings.turn_detection is None:
            self._take_rest()  # a turn taken by hand ends where the client says, not with a window
        if recognition := self._recognitions.get(item_id):
            recognition.flush(Flush(number, self._silence_s))
            self._monitor.begin(item_id, "recognizer", "settled words", self._monitor.limits.transcript_s)

    @property
    def _silence_s(self) -> float:
        """How long what the recognizer heard is silent at its end."""
        return 0.0 if self._held_from is None else self._held_from / SAMPLE_RATE_HZ - self._voiced_until_s

    def stop_recognition(self, item_id: str) -> None:
        """Close the turn's recognition."""
        recognition = self._recognitions.pop(item_id, None)
        self._monitor.end(item_id, "recognizer")
        if recognition is not None:
            recognition.stop()
            if self._fed is recognition:
                self._fed = None

    def give_up(self, item_id: str, reason: str) -> None:
        """The recognizer does not get on with a turn: its words are not waited for any more."""
        recognition = self._recognitions.get(item_id)
        if recognition is not None:
            recognition.stop()
            if self._fed is recognition:
                self._fed = None
            self._recognized(RecognitionFailed(item_id, reason))

    def _recognized(self, event: Event) -> None:
        match event:
            case TranscriptChanged(item_id=item_id, settled=True) | RecognitionFailed(item_id=item_id):
                recognition = self._recognitions.get(item_id)
                if recognition is None or not recognition.awaited:
                    self._monitor.end(item_id, "recognizer")
        self._post(event)

    # ---- whether the turn is over

    def judge_turn(self, item_id: str) -> None:
        """Ask the turn model about the sound so far; an older question is dropped."""
        self._judge.ask(item_id, self._since(self.received_s - MAX_TURN_S))

    # ---- the end

    async def close(self) -> None:
        """Stop everything and wait until it has stopped."""
        self._arriving.close()
        self._judge.close()
        tasks = [recognition.task for recognition in self._recognitions.values()]
        self._recognitions.clear()
        for task in tasks:
            task.cancel()
        await until_stopped(tasks)
