"""The settings of a call as the session object that its client sees."""

from __future__ import annotations

import json
from typing import Any

from audio.pcm import AudioFormat
from llmcore.engine import Tool
from voiceagent.conversation.mcp import mcp_chosen
from voiceagent.conversation.settings import CallSettings, TurnDetection
from voiceagent.transports.realtime.protocol.mcp_tools import show_server
from voiceagent.transports.realtime.protocol.session_settings import (
    FORMATS,
    NOISE_REDUCTION,
    SHOWN_IF_SENT,
    TRANSCRIPTION,
    VOICE,
    voice_name,
)
from voiceagent.transports.realtime.protocol.transcription import LOGPROBS, show_transcription

_FORMAT_NAMES = {audio_format: name for name, audio_format in FORMATS.items()} | {
    AudioFormat.PCM_16K: "audio/pcm"  # WebRTC audio, which is not in events; the API has no such rate
}


def show_session(session_id: str, settings: CallSettings, expires_at: int | None = None) -> dict[str, Any]:
    """Return the session object of `session.created` and `session.updated`.

    expires_at: latest end of the call, in Unix seconds; 0 for a session that has not begun.
    """
    echoed = {path: json.loads(value) for path, value in settings.echoed.items()}
    audio_input = {
        "format": show_format(settings.input_format),
        "noise_reduction": echoed.get(NOISE_REDUCTION),
        "transcription": _show_transcription(settings, echoed),
        "turn_detection": _show_detection(settings.turn_detection),
    }
    if settings.only_transcribes:
        return show_transcription(session_id, audio_input, settings.logprobs)
    shown: dict[str, Any] = {
        "type": "realtime",
        "object": "realtime.session",
        "id": session_id,
        "model": settings.model,
        "instructions": settings.instructions,
        "output_modalities": [settings.output_modality],
        "audio": {
            "input": audio_input,
            "output": {
                "format": show_format(settings.output_format),
                "voice": show_voice(settings),
                "speed": settings.speed,
            },
        },
        "tools": [*map(_show_tool, settings.tools), *map(show_server, settings.mcp_servers)],
        "tool_choice": show_tool_choice(settings.tool_choice),
        "max_output_tokens": settings.max_output_tokens or "inf",
        "tracing": echoed.get("tracing"),
        "truncation": echoed.get("truncation", "auto"),
        "prompt": echoed.get("prompt"),
        "expires_at": expires_at,
        "include": [LOGPROBS] if settings.logprobs else None,
    }
    shown |= {name: echoed[name] for name in SHOWN_IF_SENT if name in echoed}
    if settings.temperature:
        shown["temperature"] = settings.temperature
    if settings.latency_events:
        shown["voiceagent"] = {"latency": True}
    return shown


def show_voice(settings: CallSettings) -> str | dict[str, str]:
    """Return the voice as the client named it: by name, or as an object with its id."""
    sent = json.loads(settings.echoed.get(VOICE, "null"))
    # an agent that took over the call may have its own voice
    return sent if voice_name(sent) == settings.voice else settings.voice


def _show_transcription(settings: CallSettings, echoed: dict[str, Any]) -> dict[str, Any] | None:
    if not settings.transcribe:
        return None
    # some clients require a name; the server's recognizer transcribes, whatever model is named
    unset = {"model": "voiceagent", "language": None, "prompt": None}
    return unset | {name: value for name, value in echoed.get(TRANSCRIPTION, {}).items() if value is not None}


def show_format(audio_format: AudioFormat) -> dict[str, Any]:
    """Return an audio format as the wire names it."""
    name = _FORMAT_NAMES[audio_format]
    return {"type": name, "rate": 24_000} if name == "audio/pcm" else {"type": name}


def _show_detection(detection: TurnDetection | None) -> dict[str, Any] | None:
    if detection is None:
        return None
    answers = {
        "create_response": detection.create_response,
        "interrupt_response": detection.interrupt_response,
    }
    if detection.kind == "semantic_vad":
        return {"type": "semantic_vad", "eagerness": detection.eagerness, **answers}
    return {
        "type": "server_vad",
        "threshold": detection.threshold,
        "prefix_padding_ms": round(detection.prefix_padding_s * 1000),
        "silence_duration_ms": round(detection.silence_s * 1000),
        "idle_timeout_ms": detection.idle_timeout_s and round(detection.idle_timeout_s * 1000),
        **answers,
    }


def _show_tool(tool: Tool) -> dict[str, Any]:
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
    }


def show_tool_choice(choice: str) -> str | dict[str, str]:
    """Return a tool choice as the wire names it."""
    if (chosen := mcp_chosen(choice)) is not None:
        label, name = chosen
        return {"type": "mcp", "server_label": label} | ({"name": name} if name else {})
    return choice if choice in ("auto", "none", "required") else {"type": "function", "name": choice}
