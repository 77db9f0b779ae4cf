"""Notifications to the client, independent of any wire protocol: commands that a transport encodes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from llmcore.engine import LOGGED_IF_SET, ToolCall, Usage
from voiceagent.conversation.causes import InterruptedBy, TurnEndCode
from voiceagent.conversation.history import Item
from voiceagent.conversation.mcp import ListStatus, McpApprovalRequest, McpCallItem
from voiceagent.conversation.settings import CallSettings, Modality, TokenLimit

RESPONSE_IN_PROGRESS = "conversation_already_has_active_response"
"""OpenAI's error code for a second response."""
ITEM_EXISTS = "item_create_duplicate_item_id"
"""OpenAI's error code for an id that exists already."""
UNKNOWN_CALL = "invalid_tool_call_id"
"""OpenAI's error code for the output of a function call that is not in the conversation."""
ResponseStatus = Literal["completed", "cancelled", "failed", "incomplete"]


@dataclass(frozen=True, slots=True)
class NotifySettings:
    """The settings now in force. created: the first notification of a call."""

    settings: CallSettings
    created: bool = False


@dataclass(frozen=True, slots=True)
class NotifySpeechStarted:
    """The caller began to speak; the transcript will become item `item_id`.

    not_before_s: see `StartRecognition`.
    """

    item_id: str
    at_s: float
    not_before_s: float = 0.0


@dataclass(frozen=True, slots=True)
class NotifySpeechStopped:
    """The caller's turn is over. sound_end_s: end of its item's audio, if that includes the silence that
    ended the turn; None if only the length of the silence is known.
    """

    item_id: str
    at_s: float
    sound_end_s: float | None = None


@dataclass(frozen=True, slots=True)
class NotifyInputCommitted:
    """The caller's turn has become an item. end_code: the rule that ended it."""

    item_id: str
    previous_id: str | None
    end_code: TurnEndCode = field(default="", metadata=LOGGED_IF_SET)


@dataclass(frozen=True, slots=True)
class NotifyInputCleared:
    """The caller's buffered audio was dropped."""


@dataclass(frozen=True, slots=True)
class NotifyIdle:
    """The caller has been silent for the idle timeout, up to `at_s`. committed: the silence has become an
    item, after the item `previous_id`.
    """

    item_id: str
    at_s: float
    committed: bool = field(default=False, metadata=LOGGED_IF_SET)
    previous_id: str | None = field(default=None, metadata=LOGGED_IF_SET)


@dataclass(frozen=True, slots=True)
class NotifyInferencePaused:
    """Inference paused, as neither side spoke."""


@dataclass(frozen=True, slots=True)
class NotifyInferenceResumed:
    """Inference resumed: the caller spoke, or something is to be said."""


@dataclass(frozen=True, slots=True)
class NotifyClipEnded:
    """A client's clip was sent to its end, or (completed False) was cut. See `ClipRequested`."""

    response_id: str
    completed: bool


@dataclass(frozen=True, slots=True)
class NotifyKeyPressed:
    """The caller pressed a phone key at `received_at`, Unix seconds."""

    digit: str
    received_at: int


@dataclass(frozen=True, slots=True)
class NotifyTranscript:
    """The caller's transcript. final False: `text` is a stable addition; True: `text` is the whole
    transcript. logprob: mean log probability of its tokens, None if unknown.
    """

    item_id: str
    text: str
    final: bool
    seconds: float = 0.0
    logprob: float | None = None


@dataclass(frozen=True, slots=True)
class NotifyTranscriptRevised:
    """An item's words were replaced by the recognizer's second opinion."""

    item_id: str
    text: str


@dataclass(frozen=True, slots=True)
class NotifyTranscriptFailed:
    """Recognition of the caller's turn failed."""

    item_id: str
    reason: str


@dataclass(frozen=True, slots=True)
class NotifyItemAdded:
    """An item joined the conversation."""

    item: Item
    previous_id: str | None


@dataclass(frozen=True, slots=True)
class NotifyItemDone:
    """An item is complete."""

    item: Item
    previous_id: str | None


@dataclass(frozen=True, slots=True)
class NotifyItemRetrieved:
    """The requested item."""

    item: Item


@dataclass(frozen=True, slots=True)
class NotifyItemDeleted:
    """An item was removed."""

    item_id: str


@dataclass(frozen=True, slots=True)
class NotifyItemTruncated:
    """An item was cut to what was played."""

    item_id: str
    played_s: float


@dataclass(frozen=True, slots=True)
class NotifyResponseStarted:
    """A response begins. Not sent while the response is preemptive. max_tokens: the client's limit for this
    response, None if it set none. out_of_band, voice: see `StartResponse`.
    """

    response_id: str
    modality: Modality
    max_tokens: TokenLimit | None = None
    in_conversation: bool = True
    metadata: dict[str, str] = field(default_factory=dict)
    out_of_band: bool = False
    voice: str | None = None


@dataclass(frozen=True, slots=True)
class NotifyResponseText:
    """More text of the response's message `item_id`; `previous_id` is the item before it."""

    response_id: str
    item_id: str
    previous_id: str | None
    text: str


@dataclass(frozen=True, slots=True)
class NotifyToolCall:
    """The response contains this function call."""

    response_id: str
    item_id: str
    previous_id: str | None
    call: ToolCall


@dataclass(frozen=True, slots=True)
class NotifyMcpListing:
    """Progress of listing a server's tools, which is an item."""

    item_id: str
    status: ListStatus


@dataclass(frozen=True, slots=True)
class NotifyMcpApprovalRequest:
    """The response calls this tool of an MCP server, pending the client's approval."""

    response_id: str
    item: McpApprovalRequest
    previous_id: str | None


@dataclass(frozen=True, slots=True)
class NotifyMcpCall:
    """The response calls this tool of an MCP server; an approved call comes after the response."""

    response_id: str
    item: McpCallItem
    previous_id: str | None


@dataclass(frozen=True, slots=True)
class NotifyMcpCallEnded:
    """A tool call ended or failed; its response may be long over."""

    response_id: str
    item: McpCallItem
    previous_id: str | None


@dataclass(frozen=True, slots=True)
class NotifyResponseEnded:
    """The response is over: all its audio has been sent, or it was cut. false_end: it answered a false end of
    turn. out_of_band: see `StartResponse`. interrupted_by: what cut it, "" for nothing.
    """

    response_id: str
    status: ResponseStatus
    reason: str = ""
    usage: Usage = field(default_factory=Usage)
    false_end: bool = False
    out_of_band: bool = False
    interrupted_by: InterruptedBy = field(default="", metadata=LOGGED_IF_SET)


@dataclass(frozen=True, slots=True)
class NotifyError:
    """A request failed; the call continues."""

    code: str
    message: str
    param: str | None = None
    client_event_id: str | None = None


def response_in_progress(client_event_id: str | None) -> NotifyError:
    """Return the error for a response request during another response."""
    message = "a response is in progress; wait for response.done or cancel it first"
    return NotifyError(RESPONSE_IN_PROGRESS, message, client_event_id=client_event_id)


def no_responses(client_event_id: str | None) -> NotifyError:
    """Return the error for a response request in a session that only transcribes."""
    message = "this is a transcription session; it has no responses"
    return NotifyError("invalid_value", message, "type", client_event_id)


def item_not_found(
    item_id: str, verb: Literal["create", "delete", "retrieve", "truncate"], client_event_id: str | None
) -> NotifyError:
    """Return OpenAI's error for a request about an unknown item."""
    code, param = f"item_{verb}_invalid_item_id", "item_id"
    if verb == "create":
        code, param = "item_create_invalid_previous_item_id", "previous_item_id"
    message = f"there is no item {item_id!r} in the conversation"
    return NotifyError(code, message, param, client_event_id)


def nothing_to_cancel(response_id: str | None, client_event_id: str | None) -> NotifyError:
    """Return the error for cancelling a response that is over or unknown."""
    which = "" if response_id is None else f" of id {response_id!r}"
    # OpenAI's text: clients search for it
    message = f"Cancellation failed: no active response found{which}"
    param = None if response_id is None else "response_id"
    return NotifyError("response_cancel_not_active", message, param, client_event_id)


Notification = (
    NotifySettings
    | NotifySpeechStarted
    | NotifySpeechStopped
    | NotifyInputCommitted
    | NotifyInputCleared
    | NotifyIdle
    | NotifyInferencePaused
    | NotifyInferenceResumed
    | NotifyKeyPressed
    | NotifyTranscript
    | NotifyTranscriptRevised
    | NotifyTranscriptFailed
    | NotifyItemAdded
    | NotifyItemDone
    | NotifyItemRetrieved
    | NotifyItemDeleted
    | NotifyItemTruncated
    | NotifyResponseStarted
    | NotifyResponseText
    | NotifyToolCall
    | NotifyMcpListing
    | NotifyMcpApprovalRequest
    | NotifyMcpCall
    | NotifyMcpCallEnded
    | NotifyResponseEnded
    | NotifyClipEnded
    | NotifyError
)
