"""Settings of a Live session: from its configuration to the call's, and as shown to the client."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from audio.pcm import AudioFormat
from llmcore.engine import Tool
from voiceagent.conversation.history import MessageItem
from voiceagent.conversation.mcp import McpServer
from voiceagent.conversation.settings import MAX_OUTPUT_TOKENS, CallSettings, InferencePause
from voiceagent.transports.live.protocol.client_events import SessionStart
from voiceagent.transports.live.protocol.session_object import (
    ACKNOWLEDGEMENT_DELAY_MS,
    AllowedMcpTool,
    AllowedTools,
    Audio,
    ClientDelegation,
    Format,
    InitialItem,
    PcmFormat,
    Responses,
    ResponsesDelegation,
    SessionConfig,
    SessionUpdateConfig,
    WakePolicy,
)
from voiceagent.transports.realtime.protocol.errors import RequestError
from voiceagent.transports.realtime.protocol.mcp_tools import to_servers
from voiceagent.transports.realtime.protocol.raw_audio import FORMAT_NAMES
from voiceagent.transports.realtime.protocol.session_settings import (
    check_names,
    check_tool_choice,
    to_tools,
    voice_name,
)
from voiceagent.transports.realtime.protocol.shown_session import show_tool_choice
from voiceagent.validation.errors import shorten

DELEGATE = Tool(
    "delegate",
    "Hand the caller's request to the application that runs this call: for everything that needs data or "
    "actions which you do not have, such as look-ups and bookings. It reads the conversation itself. Its "
    "answer comes later. Do not use it for what you can answer yourself.",
    {"type": "object", "properties": {}},
    takes_unknown_calls=True,
)
"""Tool by which the model delegates to the client. A model of 0.5 B wrote calls of `bookTable` or `weather`
in its place, and the caller heard their brackets.
"""
FIRST_SOUND_S = 1.3
"""Seconds after the caller's last voiced sample by which a phrase is begun, unless the model has words: the
sound is on the wire before 1.5 s, the silence that a caller takes without an explanation.
"""
_TOOLS = "session.delegation.responses.tools"
_CHOICE = "session.delegation.responses.tool_choice"
_SECRET = {"headers", "authorization"}
"""Fields of MCP servers that are never shown."""


@dataclass(frozen=True, slots=True)
class LiveSettings:
    """Configuration of one session. event: the one that started it. instructions: the frontend's.
    delegation: in force; its model is only shown. appended: instructions that were appended later.
    negotiated: the transport negotiated the format of audio, so that it is not shown.
    """

    session_id: str
    expires_at: int
    event: SessionStart
    instructions: str
    delegation: ClientDelegation | ResponsesDelegation
    appended: tuple[str, ...] = ()
    negotiated: bool = False

    @property
    def start(self) -> SessionConfig:
        """The configuration that the session was started with."""
        return self.event.session

    @property
    def prompt(self) -> str:
        """The instructions of the LLM, which is frontend and backend in one."""
        given = self.delegation.responses.instructions if self.delegation.type == "responses" else None
        backend = (given or "").strip()
        return "\n\n".join(filter(None, (self.instructions, backend, *self.appended)))

    @property
    def acknowledgement_delay_ms(self) -> int:
        """Delay of an automatic acknowledgement."""
        delay_ms = self.delegation.acknowledgement_delay_ms
        return ACKNOWLEDGEMENT_DELAY_MS if delay_ms is None else delay_ms

    def acknowledgement_delay_s(self, waited_s: float) -> float:
        """Return the delay for a delegation made `waited_s` after the caller's last voiced sample. The usual
        one ends `FIRST_SOUND_S` after that sample at the latest; the client's own is kept.
        """
        delay_s = self.acknowledgement_delay_ms / 1000
        if self.delegation.acknowledgement_delay_ms is not None:
            return delay_s
        return min(delay_s, max(0.0, FIRST_SOUND_S - waited_s))

    def updated(self, update: SessionUpdateConfig) -> LiveSettings:
        """Return the settings with the given fields of an update. Raise RequestError."""
        given = update.delegation
        if given is None:
            return self
        if given.type != self.delegation.type:
            message = (
                f"is {given.type!r}, but the session delegates to {self.delegation.type!r}; it cannot change"
            )
            raise RequestError(
                "invalid_value", f"session.delegation.type {message}", "session.delegation.type"
            )
        changes: dict[str, Any] = {}
        if given.acknowledgement_delay_ms is not None:
            changes["acknowledgement_delay_ms"] = given.acknowledgement_delay_ms
        backend: Responses | None = getattr(given, "responses", None)
        if backend is not None and isinstance(self.delegation, ResponsesDelegation):
            fields = {name: getattr(backend, name) for name in backend.model_fields_set}
            if fields.get("model", "") is None:
                del fields["model"]
            changes["responses"] = self.delegation.responses.model_copy(update=fields)
        return replace(self, delegation=self.delegation.model_copy(update=changes))


def live_settings(
    session_id: str, expires_at: int, event: SessionStart, defaults: CallSettings, negotiated: bool = False
) -> LiveSettings:
    """Return the settings of a new session. defaults: the call's settings. negotiated: see `LiveSettings`."""
    delegation = event.session.delegation or ClientDelegation()
    assert isinstance(delegation, ClientDelegation | ResponsesDelegation)
    if isinstance(delegation, ResponsesDelegation) and delegation.responses.model is None:
        named = delegation.responses.model_copy(update={"model": event.session.model})
        delegation = delegation.model_copy(update={"responses": named})
    given = (event.session.instructions or "").strip()
    instructions = given or defaults.instructions
    return LiveSettings(session_id, expires_at, event, instructions, delegation, negotiated=negotiated)


def to_call_settings(live: LiveSettings, call: CallSettings) -> CallSettings:
    """Return the call's settings for a session that starts. Raise RequestError for invalid tools."""
    audio = live.start.audio
    formats = {} if live.negotiated else _formats(audio)
    voice = voice_name(audio.output.voice) if audio is not None and audio.output is not None else None
    call = replace(
        call,
        model=live.start.model,
        output_modality="audio",
        voice=voice or call.voice,
        transcribe=True,
        **formats,
        pause=_pause(live.start),
        filler_by_s=FIRST_SOUND_S,
        backchannels="all" if call.backchannels == "live" else call.backchannels,
    )
    return with_backend(live, call, instructions=True)


def _pause(start: SessionConfig) -> InferencePause | None:
    if start.idle_timeout_s is None:
        return None
    policy = start.wake_policy or WakePolicy(type="speech")
    return InferencePause(float(start.idle_timeout_s), policy.vad_threshold)


def with_backend(live: LiveSettings, call: CallSettings, instructions: bool) -> CallSettings:
    """Return the call's settings with tools and limits of the delegation in force. Raise RequestError for
    invalid tools, or a tool choice that names none of them.

    instructions: set the instructions too.
    """
    if instructions:
        call = replace(call, instructions=live.prompt)
    if isinstance(live.delegation, ClientDelegation):
        return replace(call, tools=(DELEGATE,), mcp_servers=(), tool_choice="auto")
    backend = live.delegation.responses
    tools, servers = to_tools(backend.tools or (), _TOOLS), to_servers(backend.tools or (), _TOOLS)
    check_names(tools, call, _TOOLS)
    choice = backend.tool_choice or "auto"
    if isinstance(choice, AllowedTools):
        tools, servers = allowed_tools(choice, tools, servers, _CHOICE)
        choice = choice.mode or "auto"
    limit = backend.max_output_tokens
    changed = replace(
        call,
        tools=tools,
        mcp_servers=servers,
        tool_choice=choice,
        max_output_tokens=call.max_output_tokens if limit is None else min(limit, MAX_OUTPUT_TOKENS),
    )
    check_tool_choice(changed.tool_choice, changed.all_tools, changed.mcp_servers, _CHOICE)
    return changed


def initial_item(wire: InitialItem, item_id: str) -> MessageItem:
    """Return a message of the initial history as an item."""
    role = "system" if wire.role == "developer" else wire.role
    return MessageItem(item_id, role, wire.content[0].text)


def show_session(live: LiveSettings, call: CallSettings) -> dict[str, Any]:
    """Return the session as events show it, with this server's defaults."""
    # the API does not show how inference pauses
    hidden = {"idle_timeout_s", "wake_policy"}
    shown: dict[str, Any] = live.start.model_dump(mode="json", exclude_none=True, exclude=hidden)
    given = shown.get("audio", {}).get("output", {}).get("voice")
    audio_format = {} if live.negotiated else {"format": _show_format(call.input_format)}
    return shown | {
        "id": live.session_id,
        "expires_at": live.expires_at,
        "status": "active",
        "instructions": live.instructions,
        "audio": audio_format | {"output": {"voice": given or call.voice}},
        "delegation": _show_delegation(live),
        "store": bool(live.start.store),
    }


def _show_delegation(live: LiveSettings) -> dict[str, Any]:
    delay = {"acknowledgement_delay_ms": live.acknowledgement_delay_ms}
    if isinstance(live.delegation, ClientDelegation):
        return {"type": "client"} | delay
    return {"type": "responses", "responses": _show_responses(live.delegation.responses)} | delay


def _show_responses(responses: Responses) -> dict[str, Any]:
    shown: dict[str, Any] = responses.model_dump(mode="json", exclude_none=True)
    if "tools" in shown:
        shown["tools"] = [
            {name: value for name, value in tool.items() if name not in _SECRET} for tool in shown["tools"]
        ]
    if isinstance(responses.tool_choice, str):
        shown["tool_choice"] = show_tool_choice(responses.tool_choice)
    return shown


def _formats(audio: Audio | None) -> dict[str, Any]:
    """Return the settings for the format of a WebSocket's audio."""
    given = AudioFormat.PCM_24K if audio is None or audio.format is None else _to_format(audio.format)
    return {"input_format": given, "output_format": given}


def _to_format(wire: Format) -> AudioFormat:
    if isinstance(wire, PcmFormat):
        return AudioFormat.PCM_16K if wire.rate == 16_000 else AudioFormat.PCM_24K
    return AudioFormat.PCMU if wire.type == "audio/pcmu" else AudioFormat.PCMA


def _show_format(audio_format: AudioFormat) -> dict[str, Any]:
    return {"type": FORMAT_NAMES.get(audio_format, "audio/pcm"), "rate": audio_format.rate_hz}


def allowed_tools(
    choice: AllowedTools, tools: tuple[Tool, ...], servers: tuple[McpServer, ...], param: str
) -> tuple[tuple[Tool, ...], tuple[McpServer, ...]]:
    """Return the tools and servers that the choice allows, in their order. A server whose tools are named has
    these alone; they may not be listed yet. Raise RequestError for one that the backend does not have.
    """
    labels = {server.label for server in servers}
    functions: set[str] = set()
    named: dict[str, set[str] | None] = {}  # by the server's label; None for all its tools
    for index, allowed in enumerate(choice.tools):
        place = f"{param}.tools[{index}]"
        if not isinstance(allowed, AllowedMcpTool):
            _check(allowed.name, {tool.name for tool in tools}, f"{place}.name")
            functions.add(allowed.name)
            continue
        _check(allowed.server_label, labels, f"{place}.server_label")
        names = named.setdefault(allowed.server_label, set())
        if allowed.name is None:
            named[allowed.server_label] = None
        elif names is not None:
            names.add(allowed.name)
    return (
        tuple(tool for tool in tools if tool.name in functions),
        tuple(_narrowed(server, named[server.label]) for server in servers if server.label in named),
    )


def _check(name: str, known: set[str], param: str) -> None:
    if name not in known:
        message = f"{param} is {shorten(name)}; the backend has: {', '.join(sorted(known)) or 'none'}"
        raise RequestError("invalid_value", message, param)


def _narrowed(server: McpServer, names: set[str] | None) -> McpServer:
    """Return the server with these tools only. Those that its own filter excludes stay excluded."""
    if names is None:
        return server
    allowed = names if server.allowed.names is None else names.intersection(server.allowed.names)
    return replace(server, allowed=replace(server.allowed, names=tuple(sorted(allowed))))
