"""What the client is told, free of any wire protocol: commands of the conversation that a transport
encodes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from llmcore.engine import ToolCall, Usage
from voiceagent.conversation.history import Item
from voiceagent.conversation.settings import CallSettings, Modality

ReplyStatus = Literal["completed", "cancelled", "failed", "incomplete"]


@dataclass(frozen=True, slots=True)
class TellSettings:
    """The settings now in force. `created`: the first notice of a call."""

    settings: CallSettings
    created: bool = False


@dataclass(frozen=True, slots=True)
class TellSpeechStarted:
    """The caller began to speak; the words will become item `item_id`."""

    item_id: str
    at_s: float


@dataclass(frozen=True, slots=True)
class TellSpeechStopped:
    """The caller's turn is over."""

    item_id: str
    at_s: float


@dataclass(frozen=True, slots=True)
class TellInputCommitted:
    """The caller's turn has become an item."""

    item_id: str
    previous_id: str | None


@dataclass(frozen=True, slots=True)
class TellInputCleared:
    """The caller's buffered sound was dropped."""


@dataclass(frozen=True, slots=True)
class TellIdle:
    """The caller has been silent for the idle timeout, up to `at_s`."""

    item_id: str
    at_s: float


@dataclass(frozen=True, slots=True)
class TellKeyPressed:
    """The caller pressed a key of the phone at `received_at`, Unix seconds."""

    digit: str
    received_at: int


@dataclass(frozen=True, slots=True)
class TellTranscript:
    """Words of the caller, newly certain (`final` False: `text` is the addition; True: `text` is the
    whole).
    """

    item_id: str
    text: str
    final: bool
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class TellTranscriptFailed:
    """The caller's words could not be recognised."""

    item_id: str
    reason: str


@dataclass(frozen=True, slots=True)
class TellItemAdded:
    """An item joined the conversation."""

    item: Item
    previous_id: str | None


@dataclass(frozen=True, slots=True)
class TellItemDone:
    """An item is complete."""

    item: Item
    previous_id: str | None


@dataclass(frozen=True, slots=True)
class TellItemRetrieved:
    """The item that was asked for."""

    item: Item


@dataclass(frozen=True, slots=True)
class TellItemDeleted:
    """An item was removed."""

    item_id: str


@dataclass(frozen=True, slots=True)
class TellItemTruncated:
    """An item was cut to what was heard."""

    item_id: str
    heard_s: float


@dataclass(frozen=True, slots=True)
class TellReplyStarted:
    """A reply begins (it is never told while it is provisional)."""

    reply_id: str
    modality: Modality
    max_tokens: int | None = None
    in_conversation: bool = True
    metadata: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TellReplyText:
    """More words of the reply's message `item_id`; `previous_id` is the item before it."""

    reply_id: str
    item_id: str
    previous_id: str | None
    text: str


@dataclass(frozen=True, slots=True)
class TellToolCall:
    """The reply contains this function call."""

    reply_id: str
    item_id: str
    previous_id: str | None
    call: ToolCall


@dataclass(frozen=True, slots=True)
class TellReplyEnded:
    """The reply is over: all its sound has been sent, or it was cut. taken_back: it had begun too early."""

    reply_id: str
    status: ReplyStatus
    reason: str = ""
    usage: Usage = field(default_factory=Usage)
    taken_back: bool = False


@dataclass(frozen=True, slots=True)
class TellError:
    """A request could not be carried out; the call goes on."""

    code: str
    message: str
    param: str | None = None
    client_event_id: str | None = None


Notice = (
    TellSettings
    | TellSpeechStarted
    | TellSpeechStopped
    | TellInputCommitted
    | TellInputCleared
    | TellIdle
    | TellKeyPressed
    | TellTranscript
    | TellTranscriptFailed
    | TellItemAdded
    | TellItemDone
    | TellItemRetrieved
    | TellItemDeleted
    | TellItemTruncated
    | TellReplyStarted
    | TellReplyText
    | TellToolCall
    | TellReplyEnded
    | TellError
)
