"""Messages to and from a backend: the Realtime API from the client's side."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any

import numpy as np
from pybase64 import b64encode_as_string

from audio.pcm import AudioFormat, Samples
from audio.recognizers import SAMPLE_RATE_HZ
from audio.resample import resample
from llmcore.engine import Message, ToolCall, Usage
from voiceagent.conversation.client_requests import ResponseRequested
from voiceagent.conversation.commands import Command, Play
from voiceagent.conversation.events import UpstreamEvent
from voiceagent.conversation.history import Item, MessageItem, ToolCallItem, ToolOutputItem
from voiceagent.conversation.notifications import NotifyResponseEnded, ResponseStatus
from voiceagent.conversation.settings import CallSettings
from voiceagent.transports.realtime.protocol.items import from_item
from voiceagent.transports.realtime.protocol.shown_session import show_session, show_tool_choice

Event = dict[str, Any]
"""An event of the protocol, in either direction."""


@dataclass(frozen=True, slots=True)
class Send:
    """Command: send this event to the backend."""

    event: Event


_STATUSES: dict[str, ResponseStatus] = {
    "completed": "completed", "cancelled": "cancelled", "failed": "failed", "incomplete": "incomplete",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Wait:
    """Command: report the end of this time, in seconds, by its name. A later one of a name replaces it."""

    name: str
    seconds: float


Action = Command | Send | Wait
"""A command of the call, or a message to the backend."""
UPSTREAM_HZ = 24_000
"""Sample rate of the backend's audio in both directions, whatever the client's is."""
REALTIME_AUDIO, LIVE_AUDIO = "response.output_audio.delta", "session.output_audio.delta"
"""Events with the agent's audio, of either API."""
REALTIME_APPEND, LIVE_APPEND = "input_audio_buffer.append", "session.input_audio.append"
"""Events with the caller's audio, of either API."""
VOICED_PEAK = 200
"""Least amplitude of voiced audio, -44 dB of full scale. Live sessions stream silence too."""
_MAX_DIGITS = 18
"""Longest integer of an event: nanoseconds since 1970 have 19, no field of either API as many."""
_TEXTS = {
    *("type", "id", "item_id", "response_id", "previous_item_id", "call_id", "delegation_id", "event_id"),
    *("client_event_id", "name", "arguments", "delta", "transcript", "status", "role"),
}
_NUMBERS = {
    *("audio_start_ms", "audio_end_ms", "start_ms", "end_ms"),
    *("input_tokens", "output_tokens", "cached_tokens"),
}
_UPDATABLE_FIELDS = (
    "type",
    "instructions",
    "output_modalities",
    "audio",
    "tools",
    "tool_choice",
    "max_output_tokens",
)
"""Session fields to send to a backend; the others are read-only, or extensions of this server."""


def session_update(settings: CallSettings, transcription: str, claimed: bool) -> Event:
    """Return the `session.update` for these settings. claimed: the agent's code handles callers' turns."""
    offered = replace(settings, tools=(), input_format=AudioFormat.PCM_24K, output_format=AudioFormat.PCM_24K)
    session = {
        name: value
        for name, value in show_session("", replace(offered, tools=settings.all_tools), None).items()
        if name in _UPDATABLE_FIELDS
    }
    heard: dict[str, Any] = session["audio"]["input"]
    del heard["noise_reduction"], session["audio"]["output"]["speed"]
    heard["transcription"] = {"model": transcription}
    detection = heard["turn_detection"]
    if detection is not None and detection.get("idle_timeout_ms") is None:
        detection.pop("idle_timeout_ms", None)
    elif detection is not None and claimed:
        detection["idle_timeout_ms"] = None  # if omitted, the old value would stay
    if detection is not None and claimed:
        detection["create_response"] = False
    return {"type": "session.update", "session": session}


def sound_appended(samples: Samples, kind: str = REALTIME_APPEND) -> Event:
    """Return the event, of either API, that appends the caller's audio, [n] at `UPSTREAM_HZ`."""
    audio = b64encode_as_string(samples.astype("<i2", copy=False).tobytes())
    return {"type": kind, "audio": audio}


def item_created(item: Item, previous_id: str | None = None, sound: Samples | None = None) -> Event:
    """Return the event that adds one of our items upstream. sound: see `ItemCreated`, None for none."""
    body = from_item(item)
    if isinstance(item, MessageItem):
        kind = "output_text" if item.role == "assistant" else "input_text"
        body["content"] = [{"type": kind, "text": item.text}]  # as text, even if it was spoken
        if sound is not None and len(sound):
            audio = sound_appended(resample(sound, SAMPLE_RATE_HZ, UPSTREAM_HZ))["audio"]
            typed = body["content"] if item.text else []
            body["content"] = [*typed, {"type": "input_audio", "audio": audio}]
    event: Event = {"type": "conversation.item.create", "item": body}
    return event if previous_id is None else event | {"previous_item_id": previous_id}


def item_truncated(item_id: str, played_s: float) -> Event:
    """Return the event that truncates an item to its first `played_s` seconds, which the caller has heard."""
    place = {"item_id": item_id, "content_index": 0, "audio_end_ms": int(played_s * 1000)}
    return {"type": "conversation.item.truncate", **place}


def response_created(wanted: ResponseRequested | None = None) -> Event:
    """Return the event that requests a response with the client's parameters."""
    if wanted is None:
        return {"type": "response.create"}
    given: dict[str, Any] = {
        "instructions": wanted.instructions,
        "output_modalities": None if wanted.modality is None else [wanted.modality],
        "audio": None if wanted.voice is None else {"output": {"voice": wanted.voice}},
        "tool_choice": None if wanted.tool_choice is None else show_tool_choice(wanted.tool_choice),
        "max_output_tokens": wanted.max_output_tokens,
        "conversation": None if wanted.in_conversation else "none",
        "metadata": wanted.metadata or None,
        "input": None if wanted.messages is None else [_input(message) for message in wanted.messages],
    }
    if wanted.tools is not None:
        keys = ("name", "description", "parameters")
        given["tools"] = [
            {"type": "function", **{key: getattr(tool, key) for key in keys}} for tool in wanted.tools
        ]
    return {"type": "response.create", "response": {k: v for k, v in given.items() if v is not None}}


def exact_speech(text: str) -> Event:
    """Return the request for exactly these words."""
    wanted = f"Say exactly the following words, and nothing else: {text}"
    return response_created(ResponseRequested(instructions=wanted, tools=(), tool_choice="none"))


def guided_response(instructions: str) -> Event:
    return response_created(ResponseRequested(instructions=instructions.strip()))


def read_item(body: Mapping[str, Any]) -> Item | None:
    """Return an item of the backend; None for an unsupported type."""
    match body.get("type"):
        case "message":
            parts = body.get("content") or []
            words = [part.get("text") or part.get("transcript") or "" for part in parts]
            spoken = any("audio" in str(part.get("type")) for part in parts)
            return MessageItem(body["id"], body["role"], " ".join(filter(None, words)), spoken)
        case "function_call":
            return ToolCallItem(body["id"], ToolCall(body["call_id"], body["name"], body["arguments"]))
        case "function_call_output":
            return ToolOutputItem(body["id"], body["call_id"], body["output"])
        case _:
            return None


def read_sound(event: Event) -> Samples:
    """Return the audio of an event, [n] at `UPSTREAM_HZ`."""
    return np.frombuffer(b64decode(event["delta"]), "<i2").astype(np.int16)


def for_log(wanted: Iterable[Action]) -> list[Command]:
    """Return the commands for the log: without messages to the backend, and audio, which comes as events."""
    return [one for one in wanted if not isinstance(one, Send | Play | Wait)]


def read_event(text: str | bytes) -> Event:
    """Return an event of the backend. Raise ValueError if it is no object, or has numbers without bounds."""
    try:
        event = json.loads(text, parse_int=_bounded, parse_float=_finite, parse_constant=_finite)
    except RecursionError:
        raise ValueError("its event is nested too deeply") from None
    if not isinstance(event, dict):
        raise ValueError(f"its event is {type(event).__name__}, not an object")
    return event


def check_types(event: Event) -> None:
    """Raise TypeError if a field that identifies or carries text is not text, or a time is not a number."""
    waiting: list[object] = [event]
    while waiting:
        part = waiting.pop()
        if isinstance(part, list):
            waiting += part
        elif isinstance(part, dict):
            for name, value in part.items():
                if name in _TEXTS and not isinstance(value, str | None):
                    raise TypeError(f"{name} is {type(value).__name__}, not text")
                if name in _NUMBERS and not isinstance(value, int | float | None):
                    raise TypeError(f"{name} is {type(value).__name__}, not a number")
            waiting += part.values()


def _bounded(digits: str) -> int:
    if len(digits) > _MAX_DIGITS:
        raise ValueError(f"its event has a number of {len(digits)} digits")
    return int(digits)


def _finite(digits: str) -> float:
    if not isfinite(number := float(digits)):
        raise ValueError(f"its event has the number {digits[:20]}")
    return number


def with_voice(event: Event) -> Event:
    """Return an event of the Live API, its audio marked as voiced or not: the log has no audio."""
    if event.get("type") != LIVE_AUDIO:
        return event
    try:
        samples = read_sound(event)
    except (KeyError, TypeError, ValueError):  # reported by the reader
        return event
    return event | {"voiced": len(samples) > 0 and int(np.abs(samples.astype(np.int32)).max()) >= VOICED_PEAK}


def to_logged(event: Event) -> UpstreamEvent:
    """Return an event for the log, with its audio kept separately, as that of local engines."""
    if event.get("type") not in (REALTIME_AUDIO, LIVE_AUDIO):
        return UpstreamEvent(str(event.get("type")), json.dumps(event))
    return UpstreamEvent(event["type"], json.dumps(event | {"delta": ""}), read_sound(event))


def from_logged(logged: UpstreamEvent) -> Event:
    """Restore an event from the log, which has only the length of its audio."""
    event: Event = json.loads(logged.body)
    return event | {"delta": b64encode_as_string(logged.sound.tobytes())} if len(logged.sound) else event


def read_usage(response: Mapping[str, Any]) -> Usage:
    """Return the usage of a response, as far as it is reported."""
    usage = response.get("usage") or {}
    cached = (usage.get("input_token_details") or {}).get("cached_tokens", 0)
    return Usage(usage.get("input_tokens", 0), cached, usage.get("output_tokens", 0))


def response_id_of(event: Event) -> str:
    """Return the id of the response that an event belongs to, "" for none."""
    return str(event["response"]["id"] if "response" in event else event.get("response_id", ""))


def is_out_of_band(begun: Mapping[str, Any]) -> bool:
    """Return True if a response is out of band. A spoken one never is: it occupies the voice."""
    return begun.get("output_modalities") == ["text"] and begun.get("conversation_id", "") is None


def read_end(done: Mapping[str, Any], out_of_band: bool = False) -> NotifyResponseEnded:
    status = _STATUSES.get(done["status"], "failed")
    reason = "" if status == "completed" else failure_of(done)
    return NotifyResponseEnded(done["id"], status, reason, read_usage(done), out_of_band=out_of_band)


def failure_of(response: Mapping[str, Any]) -> str:
    """Return the reason for a failed or cancelled response."""
    details = response.get("status_details") or {}
    error = details.get("error") or {}
    message = error.get("message") or error.get("code") or error.get("type") or details.get("reason")
    return str(message or response.get("status") or "")


def _input(message: Message) -> dict[str, Any]:
    kind = "output_text" if message.role == "assistant" else "input_text"
    role = message.role if message.role in ("assistant", "system") else "user"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": message.content}]}
