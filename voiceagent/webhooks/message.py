"""Webhook payloads: the JSON body of an event and the headers that sign it (Standard Webhooks 1.0.0).

https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md: the signature is
the base64 of an HMAC-SHA256 over id, timestamp and body, joined by dots. The openai SDK's
`client.webhooks.verify_signature` checks it, as do other libraries.
"""

from __future__ import annotations

import hmac
import json
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from voiceagent.conversation.history import Item, MessageItem, ToolCallItem, ToolOutputItem

BEGAN, ENDED, STATUS = "call.began", "call.ended", "call.status"
"""The event types. STATUS is of outbound calls."""


@dataclass(frozen=True, slots=True)
class WebhookEvent:
    """An event to post. event_id: the same at every retry, to drop duplicates. created_at: Unix seconds."""

    event_id: str
    kind: str
    created_at: int
    data: Mapping[str, Any]

    def body(self) -> bytes:
        """Return the JSON to post."""
        event = {
            "object": "event",
            "id": self.event_id,
            "type": self.kind,
            "created_at": self.created_at,
            "data": self.data,
        }
        return json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode()


def signed_headers(event_id: str, body: bytes, secret: bytes, now: int) -> dict[str, str]:
    """Return the headers of one attempt. now: Unix seconds; receivers refuse timestamps that are too old."""
    signed = b"%s.%d.%s" % (event_id.encode(), now, body)
    signature = b64encode(hmac.digest(secret, signed, "sha256")).decode("ascii")
    return {
        "content-type": "application/json",
        "webhook-id": event_id,
        "webhook-timestamp": str(now),
        "webhook-signature": f"v1,{signature}",
    }


def as_transcript(items: Sequence[Item]) -> list[dict[str, Any]]:
    """Return messages and tool calls in order: role and text; tool, arguments and output.

    unfinished: marks a message that the call ended in. Its text is complete as generated, as the played part
    is unknown.
    """
    answers = {item.call_id: item.output for item in items if isinstance(item, ToolOutputItem)}
    said: list[dict[str, Any]] = []
    for item in items:
        match item:
            case MessageItem() if item.text and not item.by_line:
                unfinished = {"unfinished": True} if item.status == "in_progress" else {}
                said.append({"role": item.role, "text": item.text, **unfinished})
            case ToolCallItem(call=call):
                output = answers.get(call.call_id, "")
                said.append({"tool": call.name, "arguments": call.arguments, "output": output})
    return said
