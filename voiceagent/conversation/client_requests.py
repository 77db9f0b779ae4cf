"""Requests of a client, over the wire or by phone keys: events of a conversation."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from audio.pcm import Samples
from audio.recognizers import LanguageProbabilities
from llmcore.engine import LOGGED_IF_SET, Message, Tool
from voiceagent.conversation.history import Item
from voiceagent.conversation.mcp import McpServer, McpTool
from voiceagent.conversation.settings import CallSettings, Modality, TokenLimit

CLIP_HZ = 24_000
"""Sample rate of clips."""


def _no_sound() -> Samples:
    return np.zeros(0, np.int16)


@dataclass(frozen=True, slots=True)
class Request:
    """Base of all client requests. sideband: number of the sideband that sent it, 0 for the call's client."""

    sideband: int = field(default=0, kw_only=True)


@dataclass(frozen=True, slots=True)
class SettingsChanged(Request):
    """A client's request to change the settings."""

    settings: CallSettings


@dataclass(frozen=True, slots=True)
class ResponseRequested(Request):
    """A client's request for a response now. None keeps the call's setting.

    messages: a prompt that replaces the history. guidance: instruction for the model, appended to this prompt
    only. interruptible: the caller can interrupt it. answers: see `SpeechRequested`. in_conversation: the
    response joins the history.
    voice: its name. has_fallback: if the model fails, other words follow in place of the apology.
    mcp_servers: servers that offer their tools in addition to `tools`; mcp_tools: these tools, known when the
    response starts.
    """

    instructions: str | None = None
    modality: Modality | None = None
    voice: str | None = None
    tools: tuple[Tool, ...] | None = None
    mcp_servers: tuple[McpServer, ...] = ()
    mcp_tools: tuple[McpTool, ...] = ()
    tool_choice: str | None = None
    max_output_tokens: TokenLimit | None = None
    temperature: float | None = None
    messages: tuple[Message, ...] | None = None
    guidance: str = ""
    in_conversation: bool = True
    interruptible: bool = True
    answers: tuple[str, ...] = field(default=(), metadata=LOGGED_IF_SET)
    metadata: dict[str, str] = field(default_factory=dict)
    client_event_id: str | None = None
    has_fallback: bool = field(default=False, metadata=LOGGED_IF_SET)


@dataclass(frozen=True, slots=True)
class ResponseCancelled(Request):
    """A client's request to stop the running response."""

    response_id: str | None = None
    client_event_id: str | None = None


@dataclass(frozen=True, slots=True)
class InputCommitted(Request):
    """A client's request to end the caller's turn. buffered_s: audio of the turn, set by the session."""

    buffered_s: float = 0.0
    client_event_id: str | None = None


@dataclass(frozen=True, slots=True)
class InputCleared(Request):
    """A client's request to drop the audio of the turn in progress."""


@dataclass(frozen=True, slots=True)
class OutputCleared(Request):
    """A client's request to drop the audio that was not played. by_key: the caller pressed a phone key."""

    by_key: bool = field(default=False, metadata=LOGGED_IF_SET)


@dataclass(frozen=True, slots=True)
class ClipRequested(Request):
    """A client's request to play audio of its own at once, in place of the agent's speech. The caller cannot
    interrupt it, and it does not join the history.

    response_id: under which it is played. sound: [n] at `CLIP_HZ`.
    """

    response_id: str
    sound: Samples = field(default_factory=_no_sound, compare=False)


@dataclass(frozen=True, slots=True)
class KeyPressed(Request):
    """The caller pressed a phone key (DTMF) at `received_at`, Unix seconds."""

    digit: str
    received_at: int


@dataclass(frozen=True, slots=True)
class ItemCreated(Request):
    """A client's request to add an item after `previous_id` ("root": at the front, None: at the end).

    sound: of a user's message, to be recognized, [n] at 16 kHz; its transcript is appended to the item's
    text. languages: probabilities of the text's languages, set by the session of a call that serves several.
    """

    item: Item
    previous_id: str | None = None
    client_event_id: str | None = None
    sound: Samples = field(default_factory=_no_sound, compare=False)
    languages: LanguageProbabilities = field(default=(), metadata=LOGGED_IF_SET)


@dataclass(frozen=True, slots=True)
class ItemDeleted(Request):
    """A client's request to remove an item."""

    item_id: str
    client_event_id: str | None = None


@dataclass(frozen=True, slots=True)
class ItemRetrieved(Request):
    """A client's request to return an item."""

    item_id: str
    client_event_id: str | None = None


@dataclass(frozen=True, slots=True)
class ItemTruncated(Request):
    """A client's report of how much of an item's audio was played."""

    item_id: str
    played_s: float
    client_event_id: str | None = None


@dataclass(frozen=True, slots=True)
class PlayoutMeasured(Request):
    """A client's measurement of its share of a turn's latency, in milliseconds; None if unknown.

    line_ms: half a round trip. jitter_ms: its jitter buffer. output_ms: to the loudspeaker. heard_ms: the
    whole latency measured at the client, from the caller's last audio to the agent's first.
    """

    turn_id: str
    line_ms: float | None = None
    jitter_ms: float | None = None
    output_ms: float | None = None
    heard_ms: float | None = None


ClientRequest = (
    SettingsChanged
    | ResponseRequested
    | ResponseCancelled
    | InputCommitted
    | InputCleared
    | OutputCleared
    | ClipRequested
    | KeyPressed
    | ItemCreated
    | ItemDeleted
    | ItemRetrieved
    | ItemTruncated
    | PlayoutMeasured
)
