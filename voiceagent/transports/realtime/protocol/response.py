"""One response on the wire: from its text and tool calls to the sequence of its events."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from llmcore.engine import Usage
from voiceagent.conversation.history import ItemStatus, MessageItem, ToolCallItem
from voiceagent.conversation.notifications import (
    NotifyMcpApprovalRequest,
    NotifyMcpCall,
    NotifyMcpCallEnded,
    NotifyResponseEnded,
    NotifyResponseStarted,
    NotifyResponseText,
    NotifyToolCall,
)
from voiceagent.conversation.settings import CallSettings
from voiceagent.transports.realtime.protocol.errors import public_reason
from voiceagent.transports.realtime.protocol.items import from_item
from voiceagent.transports.realtime.protocol.shown_session import show_format, show_voice

ServerEvent = dict[str, Any]
"""A server event; the encoder adds `event_id`."""
_REASONS = ("turn_detected", "client_cancelled", "max_output_tokens", "content_filter")
"""The protocol's reasons for a response that did not complete."""


@dataclass(slots=True)
class _Message:
    """The response's message while its text arrives."""

    item_id: str
    previous_id: str | None
    index: int
    text: str = ""


@dataclass(slots=True)
class Response:
    """State of one response. Each method returns the events to send, in order.

    The message stays open until the end, because its audio outlasts its text; tool calls are complete at
    once. mcp_calls: output index by item id; MCP calls may end after the response.
    """

    started: NotifyResponseStarted
    settings: CallSettings
    conversation_id: str
    message: _Message | None = None
    output: list[dict[str, Any]] = field(default_factory=list)
    mcp_calls: dict[str, int] = field(default_factory=dict)

    @property
    def audio_fields(self) -> dict[str, Any] | None:
        """Fields of all audio events of this response; None without a message, or for text."""
        if self.message is None or self.started.modality != "audio":
            return None
        return {
            "response_id": self.started.response_id,
            "item_id": self.message.item_id,
            "output_index": self.message.index,
            "content_index": 0,
        }

    def begin(self) -> Iterator[ServerEvent]:
        """Yield the events of the response's start."""
        yield {"type": "response.created", "response": self._object("in_progress")}

    def text(self, notification: NotifyResponseText) -> Iterator[ServerEvent]:
        """Yield the events of more text of the message."""
        if self.message is None:
            self.message = _Message(notification.item_id, notification.previous_id, len(self.output))
            yield from self._item_added(self._open_message(), notification.previous_id)
            yield self._part_event("response.content_part.added", part=self._part(""))
        self.message.text += notification.text
        kind = "output_audio_transcript" if self._spoken else "output_text"
        yield self._part_event(f"response.{kind}.delta", delta=notification.text)

    def tool_call(self, notification: NotifyToolCall) -> Iterator[ServerEvent]:
        """Yield the events of a complete function call. It is added as `in_progress`, because clients run
        calls that are `completed`.
        """
        call = notification.call
        done = from_item(ToolCallItem(notification.item_id, call))
        index = len(self.output)
        yield from self._item_added(
            {**done, "status": "in_progress", "arguments": ""}, notification.previous_id
        )
        about = {
            "response_id": self.started.response_id,
            "item_id": notification.item_id,
            "output_index": index,
            "call_id": call.call_id,
        }
        prefix = "response.function_call_arguments"
        yield {"type": f"{prefix}.delta", **about, "delta": call.arguments}
        yield {"type": f"{prefix}.done", **about, "name": call.name, "arguments": call.arguments}
        yield from self._item_done(done, index, notification.previous_id)

    def mcp_approval(self, notification: NotifyMcpApprovalRequest) -> Iterator[ServerEvent]:
        """Yield the events of a request to approve a call of an MCP server's tool."""
        index, item = len(self.output), from_item(notification.item)
        yield from self._item_added(item, notification.previous_id)
        yield from self._item_done(item, index, notification.previous_id)

    def mcp_call(self, notification: NotifyMcpCall) -> Iterator[ServerEvent]:
        """Yield the events of the start of an MCP call. Its result may follow after the response."""
        item, index = notification.item, len(self.output)
        shown = from_item(item)
        began = shown if item.request_id else shown | {"arguments": ""}
        yield from self._item_added(began, notification.previous_id)
        self.output[index] = shown
        self.mcp_calls[item.item_id] = index
        about = {"item_id": item.item_id, "output_index": index}
        if not item.request_id:
            prefix, response_id = "response.mcp_call_arguments", self.started.response_id
            arguments = item.call.arguments
            yield {"type": f"{prefix}.delta", "response_id": response_id, **about, "delta": arguments}
            yield {"type": f"{prefix}.done", "response_id": response_id, **about, "arguments": arguments}
        yield {"type": "response.mcp_call.in_progress", **about}

    def mcp_call_ended(self, notification: NotifyMcpCallEnded) -> Iterator[ServerEvent]:
        item = notification.item
        index = self.mcp_calls.get(item.item_id)
        if index is None:  # the client deleted the item; the conversation has the call under another id
            yield {
                "type": "conversation.item.done",
                "previous_item_id": notification.previous_id,
                "item": from_item(item),
            }
            return
        outcome = "completed" if item.error is None else "failed"
        place = {"item_id": item.item_id, "output_index": index}
        yield {"type": f"response.mcp_call.{outcome}", **place}
        yield from self._item_done(from_item(item), index, notification.previous_id)

    def end(self, notification: NotifyResponseEnded) -> Iterator[ServerEvent]:
        if self.message is not None:
            yield from self._close_message(
                "completed" if notification.status == "completed" else "incomplete"
            )
        response = self._object(notification.status)
        response["status_details"] = _details(notification)
        response["usage"] = _usage(notification.usage)
        yield {"type": "response.done", "response": response}

    @property
    def _spoken(self) -> bool:
        return self.started.modality == "audio"

    def _open_message(self) -> dict[str, Any]:
        return self._message_item("in_progress") | {"content": []}

    def _message_item(self, status: ItemStatus) -> dict[str, Any]:
        assert self.message is not None
        return from_item(
            MessageItem(self.message.item_id, "assistant", self.message.text, self._spoken, status)
        )

    def _close_message(self, status: ItemStatus) -> Iterator[ServerEvent]:
        assert self.message is not None
        text = self.message.text
        if self._spoken:
            yield self._part_event("response.output_audio.done")
            yield self._part_event("response.output_audio_transcript.done", transcript=text)
        else:
            yield self._part_event("response.output_text.done", text=text)
        yield self._part_event("response.content_part.done", part=self._part(text))
        yield from self._item_done(self._message_item(status), self.message.index, self.message.previous_id)

    def _item_added(self, item: dict[str, Any], previous_id: str | None) -> Iterator[ServerEvent]:
        yield {
            "type": "response.output_item.added",
            "response_id": self.started.response_id,
            "output_index": len(self.output),
            "item": item,
        }
        self.output.append(item)
        if self.started.in_conversation:
            yield {"type": "conversation.item.added", "previous_item_id": previous_id, "item": item}

    def _item_done(self, item: dict[str, Any], index: int, previous_id: str | None) -> Iterator[ServerEvent]:
        self.output[index] = item
        if self.started.in_conversation:
            yield {"type": "conversation.item.done", "previous_item_id": previous_id, "item": item}
        yield {
            "type": "response.output_item.done",
            "response_id": self.started.response_id,
            "output_index": index,
            "item": item,
        }

    def _part_event(self, kind: str, **fields: Any) -> ServerEvent:
        assert self.message is not None
        return {
            "type": kind,
            "response_id": self.started.response_id,
            "item_id": self.message.item_id,
            "output_index": self.message.index,
            "content_index": 0,
            **fields,
        }

    def _part(self, text: str) -> dict[str, str]:
        return {"type": "audio", "transcript": text} if self._spoken else {"type": "text", "text": text}

    def _object(self, status: str) -> dict[str, Any]:
        started, settings = self.started, self.settings
        output = {
            "format": show_format(settings.output_format),
            "voice": started.voice or show_voice(settings),
        }
        return {
            "object": "realtime.response",
            "id": started.response_id,
            "status": status,
            "status_details": None,
            "output": list(self.output),
            "conversation_id": self.conversation_id if started.in_conversation else None,
            "output_modalities": [started.modality],
            "max_output_tokens": started.max_tokens or settings.max_output_tokens or "inf",
            "audio": {"output": output},
            "usage": None,
            "metadata": started.metadata or None,
        }


def _details(notification: NotifyResponseEnded) -> dict[str, Any] | None:
    if notification.status == "completed":
        return None
    details: dict[str, Any] = {"type": notification.status}
    if notification.status == "failed":
        details["error"] = {"type": "server_error", "message": public_reason(notification.reason)}
    elif notification.reason in _REASONS:
        details["reason"] = notification.reason
    return details


def _usage(usage: Usage) -> dict[str, Any]:
    """Return the usage. All tokens are text: audio is recognised and synthesised outside the LLM."""
    return {
        "total_tokens": usage.prompt_tokens + usage.completion_tokens,
        "input_tokens": usage.prompt_tokens,
        "output_tokens": usage.completion_tokens,
        "input_token_details": {
            "text_tokens": usage.prompt_tokens,
            "audio_tokens": 0,
            "image_tokens": 0,
            "cached_tokens": usage.cached_tokens,
            "cached_tokens_details": {
                "text_tokens": usage.cached_tokens,
                "audio_tokens": 0,
                "image_tokens": 0,
            },
        },
        "output_token_details": {"text_tokens": usage.completion_tokens, "audio_tokens": 0},
    }
