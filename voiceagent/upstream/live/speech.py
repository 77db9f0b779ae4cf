"""The two sides of a Live session as turns and responses, which the API does not have. Pure.

A response begins with the first voiced audio or word and ends after `QUIET_S` of silent audio. If no audio
arrives at all, the backend may be late: the response is only interrupted, and goes on with the next voiced
audio. It ends after `GAP_S`, or earlier with words of the caller, a function call or a new request. A turn of
the caller begins with the first word of the transcript and ends with the agent's response, or once no words
have come for `TURN_QUIET_S`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from voiceagent.upstream.messages import UPSTREAM_HZ, Event, Wait
from voiceagent.upstream.responses import MAX_CHARACTERS

OUTPUT, GAP, TURN, REQUEST = "output", "gap", "turn", "request"
"""Names of waits: end of a response, gap in it, end of a turn, requested speech."""
QUIET_S = 0.6
"""Silent audio that ends a response: longer than pauses between words, shorter than a listener's patience.
Without audio for as long, a response counts as interrupted.
"""
GAP_S = 2.0
"""Time without audio that ends a response: longer than a slow sentence or a stalled network."""
TURN_QUIET_S = 1.2
"""Time without words of the caller that ends a turn. Transcripts come in fragments, late."""
NewId = Callable[[str], str]
_SECONDS_PER_CHARACTER = 3 / 4 / 2 / UPSTREAM_HZ
"""Length of audio in base64: 4 characters for 3 bytes, 2 bytes a sample."""


@dataclass(slots=True)
class Output:
    """The agent's speech. Methods return events of the Realtime API."""

    new_id: NewId
    response_id: str = ""
    interrupted: bool = False
    """No audio has arrived for `QUIET_S`."""
    _item_id: str = ""
    _has_words: bool = False
    _silent_s: float = 0.0

    @property
    def is_open(self) -> bool:
        """True while a response is in progress."""
        return self.response_id != ""

    def begin(self) -> list[Event | Wait]:
        self.response_id, self._item_id = self.new_id("resp"), self.new_id("item")
        self._has_words = False
        return [created(self.response_id)]

    def audio(self, delta: str, voiced: bool) -> list[Event | Wait]:
        """Add audio, base64. Enough silence ends the response."""
        event = self._event("response.output_audio.delta", delta)
        if voiced:
            return [event, *self._goes_on()]
        self._silent_s += len(delta) * _SECONDS_PER_CHARACTER
        return [event, *self.end()] if self._silent_s >= QUIET_S else [event]

    def words(self, delta: str) -> list[Event | Wait]:
        """Add words. A session's transcript is one text: all but its first word begin with a space."""
        delta = delta if self._has_words else delta.lstrip()
        if not delta:
            return []
        self._has_words = True
        return [self._event("response.output_audio_transcript.delta", delta), *self._goes_on()]

    def end(self) -> list[Event | Wait]:
        """End the response, if one is in progress."""
        if not self.is_open:
            return []
        ended, self.response_id, self.interrupted = self.response_id, "", False
        return [done(ended)]

    def _goes_on(self) -> list[Event | Wait]:
        self._silent_s, self.interrupted = 0.0, False
        return [Wait(GAP, QUIET_S), Wait(OUTPUT, GAP_S)]

    def _event(self, kind: str, delta: str) -> Event:
        place = {"response_id": self.response_id, "item_id": self._item_id}
        return {"type": kind, **place, "output_index": 0, "content_index": 0, "delta": delta}


@dataclass(slots=True)
class CallerTurn:
    """The caller's turn in progress, if any. Methods return events of the Realtime API.

    A turn that begins during a response is announced as speech only after that response: the backend decides
    what interrupts it.
    """

    new_id: NewId
    _item_id: str = ""
    _text: str = ""
    _start_ms: int = 0
    _end_ms: int = 0
    _announced: bool = field(default=False, init=False)
    _stopped: bool = field(default=False, init=False)

    def words(self, delta: str, start_ms: int, end_ms: int, agent_speaks: bool) -> list[Event | Wait]:
        """Add words. agent_speaks: a response is in progress."""
        events: list[Event | Wait] = []
        if not self._item_id:
            self._item_id, self._text, self._start_ms = self.new_id("item"), "", start_ms
            self._announced = self._stopped = False
            if not agent_speaks:
                events += self.announce()
            events.append({"type": "conversation.item.added", "item": self._item()})
        if len(self._text) + len(delta) > MAX_CHARACTERS:
            raise ValueError(f"a turn of the caller has more than {MAX_CHARACTERS} characters")
        self._text, self._end_ms = self._text + delta, end_ms
        kind = "conversation.item.input_audio_transcription.delta"
        return [*events, {"type": kind, "item_id": self._item_id, "delta": delta}, Wait(TURN, TURN_QUIET_S)]

    def announce(self) -> list[Event | Wait]:
        """Announce the turn as speech, if it is in progress and was not announced."""
        if not self._item_id or self._announced or self._stopped:
            return []
        self._announced = True
        kind = "input_audio_buffer.speech_started"
        return [{"type": kind, "item_id": self._item_id, "audio_start_ms": self._start_ms}]

    def stop(self) -> list[Event | Wait]:
        """End the caller's speech. Words that come late still belong to it."""
        if not self._item_id or self._stopped:
            return []
        self._stopped = True
        stopped = {
            "type": "input_audio_buffer.speech_stopped",
            "item_id": self._item_id,
            "audio_end_ms": self._end_ms,
        }
        committed = {
            "type": "input_audio_buffer.committed",
            "item_id": self._item_id,
            "previous_item_id": None,
        }
        item_done = {"type": "conversation.item.done", "item": self._item()}
        return [*([stopped] if self._announced else []), committed, item_done]

    def complete(self) -> list[Event | Wait]:
        """End the turn with its transcript."""
        if not self._item_id:
            return []
        events = self.stop()
        kind = "conversation.item.input_audio_transcription.completed"
        events.append({"type": kind, "item_id": self._item_id, "transcript": self._text.strip()})
        self._item_id = ""
        return events

    def _item(self) -> dict[str, Any]:
        content = [{"type": "input_audio", "transcript": None}]
        return {"id": self._item_id, "type": "message", "role": "user", "content": content}


def created(response_id: str) -> Event:
    return {"type": "response.created", "response": {"id": response_id, "output_modalities": ["audio"]}}


def done(response_id: str, status: str = "completed", **fields: Any) -> Event:
    return {"type": "response.done", "response": {"id": response_id, "status": status, **fields}}
