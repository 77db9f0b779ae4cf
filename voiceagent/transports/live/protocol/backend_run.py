"""Events of one response of the backend, as the Responses API streams them.

https://platform.openai.com/docs/api-reference/responses-streaming
Snapshots of the response have neither input nor output nor tools, as the Live API demands.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from llmcore.engine import ToolCall, Usage
from voiceagent.conversation.notifications import NotifyResponseEnded
from voiceagent.transports.realtime.protocol.errors import public_reason

Status = Literal["completed", "failed", "incomplete"]


@dataclass(slots=True)
class BackendRun:
    """One response. Methods return its next events. delegation_id: None if the client requested it.
    client_event_id: of the client's event that requested it.
    """

    response_id: str
    delegation_id: str | None
    model: str
    created_at: int
    client_event_id: str | None = None
    _number: int = field(default=0, init=False)
    _items: int = field(default=0, init=False)
    _message: str = field(default="", init=False)
    _text: str = field(default="", init=False)

    def begin(self) -> list[dict[str, Any]]:
        """Start the response."""
        return [self._snapshot("created", "in_progress"), self._snapshot("in_progress", "in_progress")]

    def text(self, item_id: str, delta: str) -> list[dict[str, Any]]:
        """Add text to the response's message."""
        events: list[dict[str, Any]] = []
        if not self._message:
            self._message = item_id
            events += [
                self._event("output_item.added", output_index=self._items, item=self._item("in_progress")),
                self._event("content_part.added", **self._place, part=_part("")),
            ]
        self._text += delta
        return [*events, self._event("output_text.delta", **self._place, delta=delta, logprobs=[])]

    def call(self, item_id: str, call: ToolCall) -> list[dict[str, Any]]:
        """Add a function call, complete."""
        item = {"id": item_id, "type": "function_call", "call_id": call.call_id, "name": call.name}
        events = self._end_message()
        index, self._items = self._items, self._items + 1
        place = {"item_id": item_id, "output_index": index}
        begun = item | {"arguments": "", "status": "in_progress"}
        done = item | {"arguments": call.arguments, "status": "completed"}
        return [
            *events,
            self._event("output_item.added", output_index=index, item=begun),
            self._event("function_call_arguments.delta", **place, delta=call.arguments),
            self._event("function_call_arguments.done", **place, name=call.name, arguments=call.arguments),
            self._event("output_item.done", output_index=index, item=done),
        ]

    def end(self, ended: NotifyResponseEnded) -> list[dict[str, Any]]:
        """End the response. An interrupted one is complete here: its calls can be answered."""
        events = self._end_message()
        status: Status = "completed"
        extra: dict[str, Any] = {}
        if ended.status == "failed":
            status = "failed"
            extra["error"] = {"code": "server_error", "message": public_reason(ended.reason)}
        elif ended.status == "incomplete":
            status = "incomplete"
            extra["incomplete_details"] = {"reason": ended.reason}
        return [*events, self._snapshot(status, status, usage=_usage(ended.usage), **extra)]

    @property
    def _place(self) -> dict[str, Any]:
        return {"item_id": self._message, "output_index": self._items, "content_index": 0}

    def _end_message(self) -> list[dict[str, Any]]:
        if not self._message:
            return []
        events = [
            self._event("output_text.done", **self._place, text=self._text, logprobs=[]),
            self._event("content_part.done", **self._place, part=_part(self._text)),
            self._event("output_item.done", output_index=self._items, item=self._item("completed")),
        ]
        self._message = self._text = ""
        self._items += 1
        return events

    def _item(self, status: str) -> dict[str, Any]:
        content = [_part(self._text)] if status == "completed" else []
        message = {"id": self._message, "type": "message", "role": "assistant"}
        return message | {"status": status, "content": content}

    def _snapshot(self, kind: str, status: str, **fields: Any) -> dict[str, Any]:
        response: dict[str, Any] = {
            "id": self.response_id,
            "object": "response",
            "created_at": self.created_at,
            "status": status,
            "model": self.model,
            "output": [],
            "instructions": None,
            "tools": [],
            "tool_choice": "auto",
            "parallel_tool_calls": True,
            "temperature": None,
            "top_p": None,
            "metadata": {},
            "error": None,
            "incomplete_details": None,
        }
        return self._event(kind, response=response | fields)

    def _event(self, kind: str, **fields: Any) -> dict[str, Any]:
        number, self._number = self._number, self._number + 1
        return {"type": f"response.{kind}", "sequence_number": number, **fields}


def _part(text: str) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _usage(usage: Usage) -> dict[str, Any]:
    return {
        "input_tokens": usage.prompt_tokens,
        "input_tokens_details": {
            "cached_tokens": usage.cached_tokens,
            "cache_write_tokens": usage.written_tokens,
        },
        "output_tokens": usage.completion_tokens,
        "output_tokens_details": {"reasoning_tokens": usage.thought_tokens},
        "total_tokens": usage.prompt_tokens + usage.completion_tokens,
    }
