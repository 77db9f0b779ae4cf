"""The caller's audio: front end, endpointing and recognition of one call."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from audio.detection.front_end_stream import Window
from audio.detection.smart_turn import MAX_TURN_S
from audio.interruption import reaches
from audio.loudness import VoiceReturn
from audio.pcm import Samples
from audio.recognizers import SAMPLE_RATE_HZ, Flush, Spelling
from audio.speech_events import InterruptionCandidate, SpeechEvent, SpeechPaused, SpeechResumed
from voiceagent.conversation.events import (
    CallerWoke,
    EchoMeasured,
    Event,
    SpeechStarted,
    SpokeOverAgent,
    TurnEnded,
)
from voiceagent.conversation.settings import CallSettings
from voiceagent.session.call_monitor import CallMonitor
from voiceagent.session.echo_control import EchoControl
from voiceagent.session.line_silence import InputRateLimiter
from voiceagent.session.recognition import BEHIND_S, TurnRecognitions
from voiceagent.session.services import Hearing
from voiceagent.session.turn_detection import SpeechGate, TurnDetector, TurnJudge

KEPT_S = float(MAX_TURN_S)
"""Seconds of buffered audio: the turn model's input; longer than a turn's start takes to detect."""
_KEPT_BYTES = round(KEPT_S * SAMPLE_RATE_HZ) * 2
_RESUME_LATENCY_S = 0.5
"""Maximum time from the beginning of a voice until its turn starts."""


class Listener:
    """Input side of one call. Events are posted; positions are seconds of audio since the call began.

    clock: monotonic seconds of arriving audio. monitor: timeouts and faults of the call.
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
        self._rate_limiter = InputRateLimiter(hearing.input_buffer_s, self._arrived_s)
        self._item_rate_limiter = InputRateLimiter(BEHIND_S, self._arrived_s)
        self._echo = EchoControl(hearing.echo, settings)
        self._front_end = hearing.front_end.open(
            self._echo.rate_hz, self._on_window, partial(monitor.fatal, "front end")
        )
        self._front_end.judged = settings.turn_detection is not None
        self._detector = TurnDetector(hearing.endpoint, settings.turn_detection)
        self._recent = bytearray()  # the newest `KEPT_S`, int16 at 16 kHz
        self._processed_samples = 0  # output of the front end since the call began
        self.recognitions = TurnRecognitions(
            hearing.recognizer, settings, post, monitor, hearing.second_opinions
        )
        # sample of the call from which a pause is withheld from recognition
        self._withheld_from: int | None = None
        self._voiced_until_s = 0.0  # beginning of that pause
        self._judge = TurnJudge(hearing.turn_model, post, monitor)
        self._manual_since_s: float | None = None
        self._gate: SpeechGate | None = None  # while inference is paused
        self._voice_return = VoiceReturn()
        self.on_voice_return: Callable[[], None] = lambda: None
        """Called with the first loud frame after a pause; only with backchannels, which must stop at once."""

    # ---- the caller's sound

    @property
    def received_s(self) -> float:
        """Seconds of audio received since the call began."""
        return self._processed_samples / SAMPLE_RATE_HZ + self._front_end.pending_s

    @property
    def unjudged_s(self) -> float:
        """Seconds of received audio that wait for voice detection."""
        return self._front_end.pending_s

    @property
    def awaits_silence(self) -> bool:
        """True if silence would change anything: a turn, or a possible turn, is in progress."""
        return self._detector.awaits_silence

    @property
    def buffered_s(self) -> float:
        """Seconds of audio in the turn that a client will commit."""
        return 0.0 if self._manual_since_s is None else self.received_s - self._manual_since_s

    def spoken_at_s(self, position_s: float) -> float:
        """Return the clock time of a position in the audio. The newest audio is spoken as it arrives."""
        return self._arrived_s - (self.received_s - position_s)

    def hear(self, samples: Samples, filler: bool = False) -> None:
        """Push the caller's next audio; see `Call.hear`. Raises InputOverflow."""
        now_s = self._clock()
        if not filler:
            self._rate_limiter.count(len(samples) / self._settings.input_format.rate_hz, now_s)
        by_hand = self._settings.turn_detection is None and self._manual_since_s is None
        begins_s = self.received_s if by_hand else None
        # before voice detection: an echo would interrupt the agent with its own words
        samples = self._echo.clean(samples)
        self._front_end.push(samples)
        if self._settings.backchannels == "all" and self._voice_return.push(samples):
            self.on_voice_return()
        self._arrived_s = now_s
        if begins_s is not None:
            self._manual_since_s = begins_s
            self._post(SpeechStarted(begins_s))
        if self._withheld_from is not None:  # during a pause
            self._look_ahead()

    def _on_window(self, window: Window) -> None:
        """Buffer a window of the front end, pass it to recognition, and run turn detection on it."""
        sound = window.sound
        self._processed_samples += len(sound)
        self._recent += sound.data
        received_s = self.received_s
        resumable = self.recognitions.resumable
        if resumable is not None and resumable.until_s < received_s - _RESUME_LATENCY_S:
            self.recognitions.finish_resumable()
        if len(self._recent) > _KEPT_BYTES:
            # one memmove per window: a ring buffer would have to be linearised for every read
            del self._recent[:-_KEPT_BYTES]
        if self.recognitions.active is not None and self._withheld_from is None:
            self.recognitions.push(sound)
        events = self._detector.push(window, received_s)
        if self._gate is not None:
            events = self._wake(self._gate, events, window.probability)
        if events:
            self._report(events)
        if self._echo.is_due(received_s):
            self._cancel_echo()
        if self._withheld_from is not None:
            self._look_ahead()

    def _look_ahead(self) -> None:
        """End the turn with the frame that completes its silence, instead of the next window."""
        due_in_s = self._detector.due_in_s
        if reaches(self._front_end.pending_s, due_in_s):
            self._report(self._detector.look_ahead(self._front_end.energies(due_in_s)))

    def _withhold_pause(self, event: SpeechEvent) -> None:
        """Withhold a pause from recognition until speech resumes. The transcript is settled, and decoding
        silence would cost time while the answer is made, and sometimes change the transcript.
        """
        if isinstance(event, SpeechPaused):
            self._withheld_from, self._voiced_until_s = self._processed_samples, event.at_s
        elif self._withheld_from is not None and isinstance(event, SpeechResumed):
            held, self._withheld_from = self._since(self._withheld_from / SAMPLE_RATE_HZ), None
            self.recognitions.push(held)

    def _drain(self) -> None:
        """Process the audio that waits for a whole window, or for the tick, without voice detection."""
        rest = self._front_end.drain()
        if len(rest):
            self._on_window(Window(rest, (), None))

    def configure(self, settings: CallSettings) -> None:
        """Apply new settings; the audio received so far stays."""
        old, self._settings = self._settings, settings
        self.recognitions.settings = settings
        audio_changes = (old.input_format, old.suppress_noise) != (
            settings.input_format,
            settings.suppress_noise,
        )
        if audio_changes:
            self._drain()
        self._echo.configure(settings)
        if audio_changes:
            self._front_end.change_rate(self._echo.rate_hz)
        if old.turn_detection != settings.turn_detection:
            self._restart_detector()

    def restart_detection(self) -> None:
        """Forget the voice in progress; the audio received so far stays."""
        self.recognitions.active = self._withheld_from = None
        self._restart_detector()

    def clear(self) -> None:
        """Forget the turn in progress."""
        self._drain()
        self.recognitions.active = self._withheld_from = None
        self.recognitions.close_resumable()
        self._manual_since_s = None
        self._recent.clear()
        self._restart_detector()

    def _since(self, at_s: float) -> Samples:
        """Return the buffered audio from this position on, [n] at 16 kHz."""
        # a copy: a bytearray with a view cannot grow
        kept = np.frombuffer(bytes(self._recent), np.int16)
        first = self._processed_samples - len(kept)
        return kept[max(0, round(at_s * SAMPLE_RATE_HZ) - first) :]

    # ---- the agent's sound

    def on_output_frame(self, frame: Samples, response_id: str = "") -> None:
        """Record a frame of the agent's audio, at the rate of the output format: the source of echo, and
        the time for which voices count as over the agent. response_id: "" for audio of no response.
        """
        received_s = self.received_s
        self._detector.agent_plays(received_s)
        self._echo.play(frame, received_s, response_id)

    def on_background_frame(self, frame: Samples) -> None:
        """Record a frame of sounds without speech: a source of echo, over which no voice interrupts."""
        self._echo.play(frame, self.received_s)

    def on_output_dropped(self) -> None:
        """Record that sent audio of the agent was dropped before it was played."""
        self._echo.drop(self.received_s)

    def _cancel_echo(self) -> bool:
        """Cancel the agent's echo from now on if the voice over the agent is one. Return True if so."""
        received_s = self._processed_samples / SAMPLE_RATE_HZ
        echo = self._echo.measure(received_s, self._since)
        if echo is None:
            return False
        self._drain()
        received_s = self._processed_samples / SAMPLE_RATE_HZ
        cleaned = self._echo.cancel(echo, received_s, self._since)
        if cleaned is not None:
            self._front_end.change_rate(self._echo.rate_hz)
            self._recent[-cleaned.nbytes :] = cleaned.data
        self._post(EchoMeasured(echo.delay_s))
        return True

    # ---- where speech starts, pauses and ends

    def require_silence(self, seconds: float, more_s: float = 0.0) -> None:
        """Set the silence, plus `more_s`, that ends the turn in the pause in progress."""
        self._report(self._detector.require_silence(seconds, more_s))
        self._look_ahead()

    def _report(self, events: list[SpeechEvent]) -> None:
        for event in events:
            self._echo.on_speech_event(event)
            # before an event that would hold or cut the agent
            if isinstance(event, InterruptionCandidate) and self._cancel_echo():
                return
            if isinstance(event, TurnEnded):
                if self.recognitions.active is not None:
                    withheld_from = self._withheld_from
                    self.recognitions.active.pushed_to = (
                        self._processed_samples if withheld_from is None else withheld_from
                    )
                self.recognitions.active = self._withheld_from = None
            self._withhold_pause(event)
            self._post(event)
            if isinstance(event, SpeechStarted):
                response_id, played_s = self._echo.position(event.at_s)
                if response_id:
                    self._post(SpokeOverAgent(response_id, played_s))

    # ---- while inference is paused

    def pause(self, speech_threshold: float) -> None:
        """Withhold the caller's voice until its speech probability reaches the threshold."""
        self._gate = SpeechGate(speech_threshold)

    def resume(self) -> None:
        """End the pause. A voice that was withheld is posted from its start."""
        gate, self._gate = self._gate, None
        if gate is not None:
            self._report(gate.withheld)

    def _wake(
        self, gate: SpeechGate, events: list[SpeechEvent], probability: float | None
    ) -> list[SpeechEvent]:
        """Return no events while the gate is closed. Its opening ends the pause."""
        if not gate.push(events, probability):
            return []
        self._gate = None
        self._post(CallerWoke(self.received_s))
        return gate.withheld

    def _restart_detector(self) -> None:
        if self._gate is not None:
            self._gate.forget()
        self._withheld_from = None
        self._drain()
        self._front_end.reset()
        self._front_end.judged = self._settings.turn_detection is not None
        self._detector.restart(self._settings.turn_detection, self.received_s)

    # ---- what the caller says

    def start_recognition(
        self, item_id: str, at_s: float, not_before_s: float = 0.0, continues: str = ""
    ) -> None:
        """Start recognition of the turn that began at `at_s`, with the prefix padding, but nothing before
        `not_before_s`. continues: see `StartRecognition`.
        """
        resumed = self.recognitions.resume(item_id, continues)
        if resumed is not None:
            resumed.push(self._since(resumed.pushed_to / SAMPLE_RATE_HZ))
            return
        detection = self._settings.turn_detection
        padding_s = detection.prefix_padding_s if detection else 0.0
        # from before the detected voice: "s" and "f" begin too softly to be voiced
        self.recognitions.start(item_id, self._since(max(at_s - padding_s, not_before_s)))

    def admit_item(self, sound: Samples) -> None:
        """Count the audio of an item, [n] at 16 kHz, against the input rate limit. Raises InputOverflow."""
        self._item_rate_limiter.count(len(sound) / SAMPLE_RATE_HZ, self._clock())

    def flush_recognition(self, item_id: str, number: bool, spelling: Spelling = "") -> None:
        """Request a settled hypothesis of the turn. number, spelling: see `Flush`."""
        if self._settings.turn_detection is None:
            self._drain()  # a committed turn ends where the client says, not with a window
        self.recognitions.flush(item_id, Flush(number, self._silence_s, spelling))

    @property
    def _silence_s(self) -> float:
        """Length of the silence at the end of the audio that was passed to recognition."""
        if self._withheld_from is None:
            return 0.0
        return self._withheld_from / SAMPLE_RATE_HZ - self._voiced_until_s

    # ---- whether the turn is over

    def judge_turn(self, item_id: str) -> None:
        """Query the turn model with the audio so far; an older query is dropped."""
        self._judge.ask(item_id, self._since(self.received_s - MAX_TURN_S))

    # ---- the end

    async def close(self) -> None:
        """Stop everything and wait until it has stopped."""
        self._front_end.close()
        self._judge.close()
        await self.recognitions.close()
