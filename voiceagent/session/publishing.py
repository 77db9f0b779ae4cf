"""Publishing of a call's events and audio to recorder, trace, supervisor and webhooks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import structlog
from prometheus_client import Counter

from audio.pcm import Samples
from voiceagent.conversation.call_events import CallEvent, CallSubscriber


class AudioRecorder(Protocol):
    """Receives the audio of one call directly, a hundred frames a second. Must not block or raise."""

    def on_input_audio(self, samples: Samples, rate_hz: int, begins_ago_s: float = 0.0) -> None:
        """Record the caller's next audio [n], as received.

        begins_ago_s: age of its beginning if it is silence in place of missing audio.
        """

    def on_output_audio(self, response_id: str, frame: Samples, rate_hz: int) -> None:
        """Record a frame [n] of the agent's audio as sent to the client."""


class CallTracer(Protocol):
    """Connects a call's trace with those of its caller, its LLM and its tools. Must not block or raise."""

    def join_trace(self, traceparent: str) -> None:
        """Make the call part of its caller's trace (W3C Trace Context). Call before any event."""

    def traceparent(self, of: str) -> str:
        """Return the header for requests on behalf of a response, by its id; "" if the call is not traced."""

    def enter_tool(self, call_id: str) -> None:
        """Make the current task part of the span of this tool call."""


@dataclass(frozen=True, slots=True)
class Subscriptions:
    """Receivers of one call. subscribers: called with each event in this order."""

    subscribers: tuple[CallSubscriber, ...] = ()
    recorder: AudioRecorder | None = None
    tracer: CallTracer | None = None


NO_SUBSCRIPTIONS = Subscriptions()


class CallPublisher:
    """Passes each event of one call to its subscribers, synchronously and in order.

    faults: counts exceptions. A subscriber that raises is logged and counted once, and receives no further
    events of the call. The methods of recorder and tracer are attributes, so that a frame costs one call.
    """

    def __init__(self, call_id: str, subscriptions: Subscriptions, faults: Counter) -> None:
        self._call_id = call_id
        self._subscribers = subscriptions.subscribers
        self._faults = faults
        recorder, tracer = subscriptions.recorder, subscriptions.tracer
        self.records_audio = recorder is not None
        self.on_input_audio: Callable[[Samples, int, float], None] = (
            _ignore_input if recorder is None else recorder.on_input_audio
        )
        self.on_output_audio: Callable[[str, Samples, int], None] = (
            _ignore_output if recorder is None else recorder.on_output_audio
        )
        self.join_trace: Callable[[str], None] = _ignore_text if tracer is None else tracer.join_trace
        self.traceparent: Callable[[str], str] = _no_traceparent if tracer is None else tracer.traceparent
        self.enter_tool: Callable[[str], None] = _ignore_text if tracer is None else tracer.enter_tool

    @property
    def has_subscribers(self) -> bool:
        """False if publishing does nothing."""
        return bool(self._subscribers)

    def publish(self, event: CallEvent) -> None:
        """Pass an event to all subscribers."""
        for subscriber in self._subscribers:
            try:
                subscriber.on_event(event)
            except Exception as error:  # a bug in it must not affect the call or other subscribers
                self._drop(subscriber, error)

    def _drop(self, subscriber: CallSubscriber, error: Exception) -> None:
        self._subscribers = tuple(one for one in self._subscribers if one is not subscriber)
        name = type(subscriber).__name__
        self._faults.labels(f"subscriber_{name}").inc()
        structlog.get_logger().error(
            "subscriber_dropped", call=self._call_id, subscriber=name, exc_info=error
        )


def _ignore_input(samples: Samples, rate_hz: int, begins_ago_s: float) -> None: ...


def _ignore_output(response_id: str, frame: Samples, rate_hz: int) -> None: ...


def _ignore_text(text: str) -> None: ...


def _no_traceparent(of: str) -> str:
    return ""
