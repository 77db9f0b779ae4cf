"""Texts that a client has an upstream make out of band: the caller hears nothing of them. Pure."""

from __future__ import annotations

from voiceagent.conversation import notifications as notify
from voiceagent.conversation.history import ToolCallItem
from voiceagent.upstream import messages
from voiceagent.upstream.messages import Event, Wanted


class BesideResponses:
    """Those of a call that are not over. They wait for nothing that is played, no voice cuts them, and the
    history has nothing of them.
    """

    def __init__(self) -> None:
        self._made: set[str] = set()

    def __contains__(self, response_id: str | None) -> bool:
        return response_id in self._made

    def begin(self, begun: Event) -> list[Wanted]:
        """The upstream begins one."""
        self._made.add(begun["id"])
        metadata = begun.get("metadata") or {}
        return [notify.NotifyResponseStarted(begun["id"], "text", None, False, metadata, beside=True)]

    def take(self, kind: str, event: Event) -> list[Wanted]:
        """The upstream tells of one."""
        response_id = messages.response_id_of(event)
        match kind:
            case "response.output_text.delta":
                return [notify.NotifyResponseText(response_id, event["item_id"], None, event["delta"])]
            case "response.output_item.done":
                item = messages.read_item(event["item"])
                if not isinstance(item, ToolCallItem):
                    return []
                return [notify.NotifyToolCall(response_id, item.item_id, None, item.call)]
            case "response.done":
                self._made.discard(response_id)
                return [messages.read_end(event["response"], beside=True)]
            case _:
                return []

    def lost(self, reason: str) -> list[Wanted]:
        """The upstream has gone, and they with it."""
        made, self._made = self._made, set()
        return [notify.NotifyResponseEnded(one, "failed", reason, beside=True) for one in sorted(made)]
