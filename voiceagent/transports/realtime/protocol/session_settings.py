"""A client's session object, merged into the settings of its call.

A missing field keeps its value. Null restores the value that the call began with, unless null has its own
meaning in the protocol (`turn_detection`, `transcription`, `noise_reduction`). Hints without effect here (the
transcription's model and delay, the kind of noise reduction, tracing, truncation, reasoning) are accepted and
shown as sent, because clients compare the session with their request.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from audio.pcm import AudioFormat
from llmcore.engine import Tool
from voiceagent.agents.vocabulary import vocabulary
from voiceagent.conversation.config import TurnConfig
from voiceagent.conversation.mcp import McpServer, mcp_chosen
from voiceagent.conversation.settings import CallSettings, TurnDetection
from voiceagent.transports.realtime.protocol.errors import RequestError, from_validation
from voiceagent.transports.realtime.protocol.function_parameters import check_parameters
from voiceagent.transports.realtime.protocol.mcp_tools import to_servers
from voiceagent.transports.realtime.protocol.session_object import (
    AudioInput,
    AudioOutput,
    Format,
    FunctionTool,
    McpServerTool,
    SemanticVad,
    ServerVad,
    Transcription,
)
from voiceagent.transports.realtime.protocol.stored_prompts import fill
from voiceagent.transports.realtime.protocol.transcription import LOGPROBS, AnySession, TranscriptionSession
from voiceagent.validation.errors import shorten

_Value = TypeVar("_Value")
FORMATS = {"audio/pcm": AudioFormat.PCM_24K, "audio/pcmu": AudioFormat.PCMU, "audio/pcma": AudioFormat.PCMA}
"""Audio formats by their names in the API."""
TRANSCRIPTION, NOISE_REDUCTION = "audio/input/transcription", "audio/input/noise_reduction"
VOICE = "audio/output/voice"
SHOWN_IF_SENT = ("parallel_tool_calls", "reasoning")
"""Session fields that OpenAI's server omits unless the client has set them."""
ECHOED = (TRANSCRIPTION, NOISE_REDUCTION, VOICE, "tracing", "truncation", "prompt", *SHOWN_IF_SENT)
"""Session fields that are shown as they were sent."""
_CLIENT_ENDED_MODELS = ("gpt-realtime-whisper", "gpt-live-transcribe")
"""OpenAI's transcription models without turn detection; LiveKit leaves the field out for them and commits."""


_SESSION: TypeAdapter[AnySession] = TypeAdapter(AnySession)


def merge(update: AnySession, settings: CallSettings, defaults: CallSettings) -> CallSettings:
    """Return `settings` with the fields of `update`. Raise RequestError.

    defaults: values that null restores.
    """
    given = update.model_fields_set
    if isinstance(update, TranscriptionSession):
        return _merge_transcription(update, settings, defaults)
    if settings.only_transcribes:
        message = "session.type is 'realtime', but this is a transcription session; allowed: 'transcription'"
        raise RequestError("invalid_value", message, "session.type")
    changes = _include_changes(update)
    for name, field in (
        ("model", "model"),
        ("instructions", "instructions"),
        ("output_modalities", "output_modality"),
        ("tool_choice", "tool_choice"),
        ("max_output_tokens", "max_output_tokens"),
        ("temperature", "temperature"),
    ):
        if name in given:
            changes[field] = _or(getattr(update, name), getattr(defaults, field))
    if update.prompt is not None:
        filled = fill(update.prompt, settings.prompts)
        if update.instructions is None:  # given ones replace those of the prompt
            changes["instructions"] = filled
    changes["echoed"] = echo(update, settings.echoed)
    if "tools" in given:
        tools = update.tools
        changes["tools"] = defaults.tools if tools is None else to_tools(tools, "session.tools")
        changes["mcp_servers"] = to_servers(tools or (), "session.tools")
    if update.audio is not None and update.audio.input is not None:
        changes |= _input_changes(update.audio.input, settings, defaults)
    if update.audio is not None and update.audio.output is not None:
        changes |= _output_changes(update.audio.output, defaults)
    if update.voiceagent is not None and "latency" in update.voiceagent.model_fields_set:
        changes["latency_events"] = _or(update.voiceagent.latency, defaults.latency_events)
    merged = replace(settings, **changes)
    check_names(merged.tools, settings, "session.tools")
    if "tool_choice" not in given and not _has_choice(merged):
        return replace(merged, tool_choice="auto")  # the update removed the tool that an earlier one forced
    check_tool_choice(merged.tool_choice, merged.all_tools, merged.mcp_servers, "session.tool_choice")
    return merged


def merge_given(session: dict[str, Any], settings: CallSettings) -> CallSettings:
    """Return `settings` with the fields of a session given before its call begins. Raise RequestError."""
    if not session:
        return settings
    try:
        wanted = _SESSION.validate_python(session)
    except ValidationError as error:
        raise from_validation(error, {"session": session}, ("session",)) from error
    return merge(wanted, settings, settings)


def to_tools(wire: Sequence[FunctionTool | McpServerTool], param: str) -> tuple[Tool, ...]:
    """Return the functions as tools for the LLM. Raise RequestError if two have one name, or if parameters
    are not a JSON Schema.
    """
    names: set[str] = set()
    functions: list[FunctionTool] = []
    for index, tool in enumerate(wire):
        if isinstance(tool, McpServerTool):
            continue
        functions.append(tool)
        if tool.name in names:
            message = f"{param}[{index}].name is {tool.name!r}, which an earlier tool has; names must differ"
            raise RequestError("invalid_value", message, f"{param}[{index}].name")
        names.add(tool.name)
        check_parameters(tool.name, tool.parameters or {}, f"{param}[{index}]")
    return tuple(Tool(tool.name, tool.description or "", tool.parameters or {}) for tool in functions)


def check_names(tools: tuple[Tool, ...], settings: CallSettings, param: str) -> None:
    """Raise RequestError if a client's tool has the name of an agent's tool."""
    taken = {tool.name for tool in settings.agent_tools}
    for number, tool in enumerate(tools):
        if tool.name in taken:
            allowed = f"names other than {', '.join(sorted(taken))}, which are the agent's own tools"
            message = f"{param}[{number}].name is {shorten(tool.name)}; allowed: {allowed}"
            raise RequestError("invalid_value", message, f"{param}[{number}].name")


def check_tool_choice(
    choice: str, tools: tuple[Tool, ...], servers: tuple[McpServer, ...], param: str
) -> None:
    """Raise RequestError if `choice` forces a function that is not among `tools`, or an MCP server that is
    not among `servers`. The tools of a server may not be listed yet.
    """
    names, labels = [tool.name for tool in tools], [server.label for server in servers]
    if (chosen := mcp_chosen(choice)) is not None:
        if chosen[0] not in labels:
            message = f"{param}.server_label is {shorten(chosen[0])}; servers: {', '.join(labels) or 'none'}"
            raise RequestError("invalid_value", message, f"{param}.server_label")
    elif choice not in ("auto", "none", "required", *names):
        allowed = ", ".join(names) or "none, for there are no tools"
        message = f"{param} is {shorten(choice)}, but there is no such tool; tools: {allowed}"
        raise RequestError("invalid_value", message, param)


def _has_choice(settings: CallSettings) -> bool:
    """Return False if the tool that the settings force is not among theirs."""
    try:
        check_tool_choice(settings.tool_choice, settings.all_tools, settings.mcp_servers, "")
    except RequestError:
        return False
    return True


def to_format(wire: Format) -> AudioFormat:
    """Return the audio format named on the wire."""
    return FORMATS[wire.type]


def _merge_transcription(
    update: TranscriptionSession, settings: CallSettings, defaults: CallSettings
) -> CallSettings:
    changes = _include_changes(update) | {"echoed": echo(update, settings.echoed)}
    if update.audio is not None and update.audio.input is not None:
        model = update.audio.input.transcription and update.audio.input.transcription.model
        if model in _CLIENT_ENDED_MODELS:
            changes["turn_detection"] = None
        changes |= _input_changes(update.audio.input, settings, defaults)
    return replace(settings, **changes).as_transcription()


def _include_changes(update: AnySession) -> dict[str, Any]:
    given = "include" in update.model_fields_set
    return {"logprobs": LOGPROBS in (update.include or ())} if given else {}


def _input_changes(update: AudioInput, settings: CallSettings, defaults: CallSettings) -> dict[str, Any]:
    given = update.model_fields_set
    changes: dict[str, Any] = {}
    if "format" in given:
        changes["input_format"] = to_format(update.format) if update.format else defaults.input_format
    if "transcription" in given:
        changes["transcribe"] = update.transcription is not None
        if settings.language:  # of a call that serves several
            changes["fixed_language"] = _language_code(update.transcription)
        changes |= _likely(update.transcription)
    if "noise_reduction" in given:
        changes["suppress_noise"] = update.noise_reduction is not None
    if "turn_detection" in given:
        detection = update.turn_detection
        changes["turn_detection"] = detection and _merge_detection(detection, settings, defaults)
    return changes


def _language_code(update: Transcription | None) -> str:
    """Return the ISO 639 code of the language that the client fixes, as "de" of "de-CH"; "" for none."""
    language = None if update is None else update.language
    return (language or "").partition("-")[0].lower()


def _likely(update: Transcription | None) -> dict[str, tuple[str, ...]]:
    """Return the phrases and words that the client expects in the caller's speech.

    `prompt` is a free text: its names and longer words count, as those of an agent's instructions.
    """
    keywords = () if update is None else tuple(word.strip() for word in update.keywords or ())
    words = () if update is None else vocabulary(update.prompt or "", ())
    return {"likely_phrases": tuple(word for word in keywords if word), "likely_words": words}


def _output_changes(update: AudioOutput, defaults: CallSettings) -> dict[str, Any]:
    given = update.model_fields_set
    changes: dict[str, Any] = {}
    if "format" in given:
        changes["output_format"] = to_format(update.format) if update.format else defaults.output_format
    if "voice" in given:
        changes["voice"] = _or(voice_name(update.voice), defaults.voice)
    if "speed" in given:
        changes["speed"] = _or(update.speed, defaults.speed)
    return changes


def _merge_detection(
    update: ServerVad | SemanticVad, settings: CallSettings, defaults: CallSettings
) -> TurnDetection:
    """Change a detection of the kind in force; start another kind from the server's values."""
    fallback = replace(defaults.turn_detection or TurnConfig().to_detection(), kind=update.type)
    current = settings.turn_detection
    base = current if current is not None and current.kind == update.type else fallback
    changes: dict[str, Any] = {}
    for name in update.model_fields_set - {"type"}:
        value = getattr(update, name)
        field = {"silence_duration_ms": "silence_s"}.get(name, name.replace("_ms", "_s"))
        if value is None:
            changes[field] = getattr(fallback, field)
        else:
            changes[field] = value / 1000 if name.endswith("_ms") else value
    return replace(base, **changes)


def voice_name(voice: str | dict[str, str] | None) -> str | None:
    """Return the name of a voice, which is given by name or as an object with its id."""
    return voice["id"] if isinstance(voice, dict) else voice


def echo(update: AnySession, echoed: dict[str, str]) -> dict[str, str]:
    """Return `echoed`, updated with the fields of `update` that are only shown. Null removes a field."""
    sent = update.model_dump(mode="json", exclude_unset=True)
    changed = dict(echoed)
    for path in ECHOED:
        place: Any = sent
        *within, name = path.split("/")
        for part in within:
            place = place.get(part) or {}
        if name in place:
            earlier = changed.pop(path, "{}")
            value = place[name]
            if path == NOISE_REDUCTION and value is not None:
                value = json.loads(earlier) | value  # an omitted strength stays
            if value is not None:
                changed[path] = json.dumps(value)
    return changed


def _or(value: _Value | None, default: _Value) -> _Value:
    return default if value is None else value
