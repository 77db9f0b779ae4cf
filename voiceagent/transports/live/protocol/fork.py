"""Start of a session that continues a stored one."""

from __future__ import annotations

from typing import Any

from voiceagent.conversation.settings import USUAL_VOICE, CallSettings
from voiceagent.transports.live.protocol.client_events import ClientEvent, SessionStart
from voiceagent.transports.live.protocol.session_object import (
    Audio,
    AudioOutput,
    ClientDelegation,
    Delegation,
    ForkConfig,
    FunctionTool,
    MediaForkConfig,
    MediaSessionConfig,
    Responses,
    ResponsesDelegation,
    ResponsesDelegationUpdate,
    SessionConfig,
)
from voiceagent.transports.live.protocol.settings import DELEGATE
from voiceagent.transports.realtime.protocol.errors import RequestError


class ForkStart(ClientEvent):
    """Event `session.start` on the WebSocket of a fork."""

    session: ForkConfig


def forked_start(
    stored: CallSettings, given: ForkConfig | MediaForkConfig, event_id: str | None = None
) -> SessionStart:
    """Return the start of a continued session. stored: its settings at the end. Raise RequestError."""
    output = None if stored.voice == USUAL_VOICE else AudioOutput(voice=stored.voice)
    session = SessionConfig(
        model=stored.model,
        instructions=stored.instructions,
        delegation=_delegation(stored, given.delegation),
        store=given.store is not False,
        audio=Audio(output=output, format=given.audio.format if given.audio is not None else None),
    )
    if given.client is not None:
        session = MediaSessionConfig.model_construct(**(dict(session) | {"client": given.client}))
    return SessionStart(type="session.start", event_id=event_id, session=session)


def _delegation(stored: CallSettings, given: ResponsesDelegationUpdate | None) -> Delegation:
    if DELEGATE in stored.tools:
        if given is not None:
            message = (
                "the stored session delegates to the client, and a fork cannot change that; leave it out"
            )
            raise RequestError("invalid_value", f"session.delegation: {message}", "session.delegation.type")
        return ClientDelegation()
    limit = stored.max_output_tokens
    changes: dict[str, Any] = {
        "tools": [
            FunctionTool(
                type="function", name=one.name, description=one.description, parameters=one.parameters
            )
            for one in stored.tools
        ],
        "tool_choice": stored.tool_choice,
        "max_output_tokens": limit if isinstance(limit, int) else None,
    }
    if given is not None and given.responses is not None:
        changes |= {name: getattr(given.responses, name) for name in given.responses.model_fields_set}
    if changes.get("model") is None:
        changes["model"] = stored.model
    responses = Responses(model=stored.model).model_copy(update=changes)
    delay_ms = None if given is None else given.acknowledgement_delay_ms
    return ResponsesDelegation(type="responses", responses=responses, acknowledgement_delay_ms=delay_ms)
