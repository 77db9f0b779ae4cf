"""The shapes of server events in OpenAI's Realtime API: fields, types, and fields that may be null.

Written from the types of the `openai` package 3.x, which leave most fields optional, and from recordings of
the API (gpt-realtime, 2026), which do not. A dictionary is an object with exactly these fields; a name that
ends in "?" may be absent. A list is a list of such values, a tuple lists alternatives, and a type or a value
stands for itself. `docs/realtime-events.md` lists the differences from OpenAI and their
reasons.
"""

from __future__ import annotations

from typing import Any

Spec = Any
NULL_OR_TEXT, NULL_OR_NUMBER = (None, str), (None, int)
ANY = object

FORMATS = (
    {"type": "audio/pcm", "rate": 24_000},
    {"type": "audio/pcmu"},
    {"type": "audio/pcma"},
)
_ANSWERS = {"create_response": bool, "interrupt_response": bool}
EAGERNESS = ("low", "medium", "high", "auto")
LOGPROBS = "item.input_audio_transcription.logprobs"
DETECTIONS = (
    None,
    {
        "type": "server_vad",
        "threshold": float,
        "prefix_padding_ms": int,
        "silence_duration_ms": int,
        "idle_timeout_ms": NULL_OR_NUMBER,
        **_ANSWERS,
    },
    {"type": "semantic_vad", "eagerness": EAGERNESS, **_ANSWERS},
)
TRANSCRIPTION = {
    "model": str,
    "language": NULL_OR_TEXT,
    "prompt": NULL_OR_TEXT,
    "languages?": [str],
    "keywords?": [str],
    "delay?": str,
}
VOICE = (str, {"id": str})
TOOLS = (
    {"type": "function", "name": str, "description": str, "parameters": ANY},
    {
        "type": "mcp",
        "server_label": str,
        "server_url": str,
        "allowed_tools": ANY,
        "require_approval": ANY,
        "server_description?": str,
    },
)
SESSION = {
    "type": "realtime",
    "object": "realtime.session",
    "id": str,
    "model": str,
    "output_modalities": [("audio", "text")],
    "instructions": str,
    "tools": [TOOLS],
    "tool_choice": (
        *("auto", "none", "required"),
        {"type": "function", "name": str},
        {"type": "mcp", "server_label": str, "name?": str},
    ),
    "max_output_tokens": ("inf", int),
    "tracing": ANY,
    "truncation": ANY,
    "prompt": ANY,
    "expires_at": NULL_OR_NUMBER,
    "audio": {
        "input": {
            "format": FORMATS,
            "transcription": (None, TRANSCRIPTION),
            "noise_reduction": ANY,
            "turn_detection": DETECTIONS,
        },
        "output": {"format": FORMATS, "voice": VOICE, "speed": float},
    },
    "include": (None, [LOGPROBS]),
    # omitted unless the client has set them
    "parallel_tool_calls?": bool,
    "reasoning?": ANY,
    "temperature?": float,
    "voiceagent?": {"latency": True},
}
_VAD = {"type": "server_vad", "threshold": float, "prefix_padding_ms": int, "silence_duration_ms": int}
TRANSCRIPTION_SESSION = {
    "type": "transcription",
    "object": "realtime.transcription_session",
    "id": str,
    "audio": {
        "input": {
            "format": FORMATS,
            "transcription": (None, TRANSCRIPTION),
            "noise_reduction": ANY,
            "turn_detection": (None, _VAD, {"type": "semantic_vad", "eagerness": EAGERNESS}),
        }
    },
    "include": (None, [LOGPROBS]),
}
"""Not recorded. From the guide to transcription and the package's types, which lack `semantic_vad` here."""
SESSIONS = (SESSION, TRANSCRIPTION_SESSION)

PARTS = (
    {"type": "input_text", "text": str},
    {"type": "input_audio", "transcript": NULL_OR_TEXT},
    {"type": "input_image", "detail": "auto"},
    {"type": "output_text", "text": str},
    {"type": "output_audio", "transcript": str},
)
STATUS = ("in_progress", "completed", "incomplete")
_MCP_TOOL = {"name": str, "description": ANY, "annotations": ANY, "input_schema": ANY}
_MCP = {"id": str, "name": str, "server_label": str, "arguments": str}
ITEMS = (
    {
        "id": str,
        "type": "message",
        "status": STATUS,
        "role": ("user", "assistant", "system"),
        "content": [PARTS],
    },
    {
        "id": str,
        "type": "function_call",
        "status": STATUS,
        "name": str,
        "call_id": str,
        "arguments": str,
    },
    {"id": str, "type": "function_call_output", "call_id": str, "output": str},
    {"id": str, "type": "mcp_list_tools", "server_label": str, "tools": [_MCP_TOOL]},
    {"type": "mcp_approval_request", **_MCP},
    {
        "id": str,
        "type": "mcp_approval_response",
        "approval_request_id": str,
        "approve": bool,
        "reason": NULL_OR_TEXT,
    },
    {"type": "mcp_call", "approval_request_id": NULL_OR_TEXT, "output": NULL_OR_TEXT, "error": ANY, **_MCP},
)

_TOKENS = {"text_tokens": int, "audio_tokens": int}
USAGE = {
    "total_tokens": int,
    "input_tokens": int,
    "output_tokens": int,
    "input_token_details": {
        **_TOKENS,
        "image_tokens": int,
        "cached_tokens": int,
        "cached_tokens_details": {**_TOKENS, "image_tokens": int},
    },
    "output_token_details": _TOKENS,
}
RESPONSE = {
    "object": "realtime.response",
    "id": str,
    "status": ("in_progress", "completed", "cancelled", "failed", "incomplete"),
    "status_details": (
        None,
        {"type": ("cancelled", "incomplete"), "reason?": str},
        {"type": "failed", "error": {"type": str, "message": str}},
    ),
    "output": [ITEMS],
    "conversation_id": NULL_OR_TEXT,
    "output_modalities": [("audio", "text")],
    "max_output_tokens": ("inf", int),
    "audio": {"output": {"format": FORMATS, "voice": VOICE}},
    "usage": (None, USAGE),
    "metadata": ANY,
}

_ITEM = {"previous_item_id": NULL_OR_TEXT, "item": ITEMS}
_PLACE = {"response_id": str, "item_id": str, "output_index": int, "content_index": int}
_CALL = {"response_id": str, "item_id": str, "output_index": int}
_HEARD = {"item_id": str, "content_index": int}
_PART = ({"type": "audio", "transcript": str}, {"type": "text", "text": str})
_ERROR = {"type": str, "code": str, "message": str, "param": NULL_OR_TEXT, "event_id": NULL_OR_TEXT}
# null or absent where the recognizer has none, or the session did not ask for them
_LOGPROBS = (None, [{"token": str, "bytes": [int], "logprob": float}])
_TRANSCRIPTION = "conversation.item.input_audio_transcription"
_ARGUMENTS = "response.function_call_arguments"

EVENTS: dict[str, dict[str, Spec]] = {
    "session.created": {"session": SESSIONS},
    "session.updated": {"session": SESSIONS},
    "error": {"error": _ERROR},
    "input_audio_buffer.speech_started": {"item_id": str, "audio_start_ms": int},
    "input_audio_buffer.speech_stopped": {"item_id": str, "audio_end_ms": int},
    "input_audio_buffer.committed": {"item_id": str, "previous_item_id": NULL_OR_TEXT},
    "input_audio_buffer.cleared": {},
    "input_audio_buffer.timeout_triggered": {"item_id": str, "audio_start_ms": int, "audio_end_ms": int},
    # the package's type has no id
    "input_audio_buffer.dtmf_event_received": {"event_id?": str, "event": str, "received_at": int},
    "conversation.item.added": _ITEM,
    "conversation.item.done": _ITEM,
    "conversation.item.retrieved": {"item": ITEMS},
    "conversation.item.deleted": {"item_id": str},
    "conversation.item.truncated": {**_HEARD, "audio_end_ms": int},
    f"{_TRANSCRIPTION}.delta": {**_HEARD, "delta": str, "logprobs?": _LOGPROBS},
    f"{_TRANSCRIPTION}.completed": {
        **_HEARD,
        "transcript": str,
        "usage": {"type": "duration", "seconds": int},
        "logprobs?": _LOGPROBS,
    },
    f"{_TRANSCRIPTION}.failed": {**_HEARD, "error": {"type": str, "code": str, "message": str}},
    "response.created": {"response": RESPONSE | {"status": "in_progress", "output": [], "usage": None}},
    "response.done": {"response": RESPONSE | {"usage": USAGE}},
    "response.output_item.added": {"response_id": str, "output_index": int, "item": ITEMS},
    "response.output_item.done": {"response_id": str, "output_index": int, "item": ITEMS},
    "response.content_part.added": {**_PLACE, "part": _PART},
    "response.content_part.done": {**_PLACE, "part": _PART},
    "response.output_text.delta": {**_PLACE, "delta": str},
    "response.output_text.done": {**_PLACE, "text": str},
    "response.output_audio_transcript.delta": {**_PLACE, "delta": str},
    "response.output_audio_transcript.done": {**_PLACE, "transcript": str},
    "response.output_audio.delta": {**_PLACE, "delta": str},
    "response.output_audio.done": _PLACE,
    f"{_ARGUMENTS}.delta": {**_CALL, "call_id": str, "delta": str},
    f"{_ARGUMENTS}.done": {**_CALL, "call_id": str, "name": str, "arguments": str},
    "response.mcp_call_arguments.delta": {**_CALL, "delta": str},
    "response.mcp_call_arguments.done": {**_CALL, "arguments": str},
    "response.mcp_call.in_progress": {"item_id": str, "output_index": int},
    "response.mcp_call.completed": {"item_id": str, "output_index": int},
    "response.mcp_call.failed": {"item_id": str, "output_index": int},
    "mcp_list_tools.in_progress": {"item_id": str},
    "mcp_list_tools.completed": {"item_id": str},
    "mcp_list_tools.failed": {"item_id": str},
    "output_audio_buffer.started": {"response_id": str},
    "output_audio_buffer.stopped": {"response_id": str},
    "output_audio_buffer.cleared": {"response_id": str},
}


def check_shape(event: dict[str, Any]) -> None:
    """Raise AssertionError unless the event has one of these shapes."""
    kind = event["type"]
    assert kind in EVENTS, f"OpenAI sends no {kind}"
    of_all = {"type": kind} if "event_id?" in EVENTS[kind] else {"type": kind, "event_id": str}
    wrong = mismatch(event, of_all | EVENTS[kind], kind)
    assert wrong is None, wrong


def mismatch(value: Any, spec: Spec, path: str) -> str | None:
    """Return the first mismatch between `value` and `spec`, None if there is none."""
    if isinstance(spec, tuple):
        found = [mismatch(value, one, path) for one in spec]
        if None in found:
            return None
        return _closest(value, spec, path)
    if isinstance(spec, dict):
        return _object_mismatch(value, spec, path)
    if isinstance(spec, list):
        if not isinstance(value, list) or (value and not spec):
            return f"{path} is {value!r}, no such list"
        return next(filter(None, (mismatch(one, spec[0], f"{path}[]") for one in value)), None)
    if spec is ANY or (isinstance(spec, type) and _is_a(value, spec)):
        return None
    if not isinstance(spec, type) and type(value) is type(spec) and value == spec:
        return None
    return f"{path} is {value!r}; allowed: {spec!r}"


def _is_a(value: Any, kind: type) -> bool:
    if isinstance(value, bool):
        return kind is bool
    if kind is int and isinstance(value, float):  # the package reads some whole numbers as floats
        return value.is_integer()
    return isinstance(value, int | float) if kind is float else isinstance(value, kind)


def _closest(value: Any, specs: tuple[Spec, ...], path: str) -> str:
    """Return the mismatch with the alternative of the same type; it says more than a list of all."""
    if isinstance(value, dict):
        for spec in specs:
            if isinstance(spec, dict) and spec.get("type") == value.get("type"):
                return _object_mismatch(value, spec, path) or path
    return f"{path} is {value!r}; allowed: {specs!r}"


def _object_mismatch(value: Any, spec: dict[str, Spec], path: str) -> str | None:
    if not isinstance(value, dict):
        return f"{path} is {value!r}, no object"
    known = {name.removesuffix("?"): inner for name, inner in spec.items()}
    missing = {name for name in spec if not name.endswith("?")} - value.keys()
    if missing:
        return f"{path} lacks {sorted(missing)}"
    if value.keys() - known.keys():
        return f"{path} has {sorted(value.keys() - known.keys())}, which OpenAI's has not"
    found = (mismatch(inner, known[name], f"{path}.{name}") for name, inner in value.items())
    return next(filter(None, found), None)
