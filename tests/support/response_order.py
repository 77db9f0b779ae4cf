"""The order of server events that clients rely on, as a machine that refuses any other."""

from __future__ import annotations

from typing import Any


class ResponseOrder:
    """Takes the server events of one call, in order; fails on one that may not come now.

    Calls of MCP servers may end after the response that made them, and an approved one begins after it.
    """

    def __init__(self) -> None:
        self.event_ids: set[str] = set()
        self.open: dict[str, dict[int, dict[str, Any]]] = {}
        self.done: dict[str, dict[str, Any]] = {}
        self.added_items: set[str] = set()
        self.done_items: set[str] = set()
        self.begun = False
        self.mcp_calls: dict[str, str] = {}

    def take(self, event: dict[str, Any]) -> None:
        """The next event."""
        assert event["event_id"] not in self.event_ids, "event ids must differ"
        self.event_ids.add(event["event_id"])
        kind = event["type"]
        assert (kind == "session.created") != self.begun, "a call begins with session.created, and only it"
        self.begun = True
        self._item_is_done_first(kind, event)
        if kind.startswith("response.") and self._is_mcp(event):
            self._mcp(kind, event)
            return
        match kind:
            case "response.created":
                assert event["response"]["id"] not in self.open
                assert event["response"]["status"] == "in_progress"
                self.open[event["response"]["id"]] = {}
            case "response.done":
                self._response_done(event["response"])
            case "response.output_item.added":
                self._item_added(event)
            case "response.output_item.done":
                item = self._item(event)
                assert item["open_parts"] == 0, "a part was left open"
                assert item["done"] is None
                item["done"] = event["item"]
            case "conversation.item.added":
                assert event["item"]["id"] not in self.added_items
                self.added_items.add(event["item"]["id"])
            case "conversation.item.done":
                assert event["item"]["id"] in self.added_items
                self.done_items.add(event["item"]["id"])
            case _ if "output_index" in event:
                self._part_event(kind, self._item(event), event)

    def _item_is_done_first(self, kind: str, event: dict[str, Any]) -> None:
        """Check that the conversation's event about the end of an item precedes the response's."""
        if kind == "response.output_item.done" and event["item"]["id"] in self.added_items:
            assert event["item"]["id"] in self.done_items, "conversation.item.done comes first"

    @staticmethod
    def _is_mcp(event: dict[str, Any]) -> bool:
        return ".mcp_call" in event["type"] or event.get("item", {}).get("type", "").startswith("mcp_")

    def _mcp(self, kind: str, event: dict[str, Any]) -> None:
        item = event.get("item", {})
        item_id = event.get("item_id") or item["id"]
        if item.get("type") == "mcp_approval_request":
            prefix = "response.output_item."
            states = {f"{prefix}added": (None, "asked"), f"{prefix}done": ("asked", "done")}
        else:
            states = {
                "response.output_item.added": (None, "added"),
                "response.mcp_call_arguments.delta": ("added", "arguments"),
                "response.mcp_call_arguments.done": ("arguments", "added"),
                "response.mcp_call.in_progress": ("added", "running"),
                "response.mcp_call.completed": ("running", "ended"),
                "response.mcp_call.failed": ("running", "ended"),
                "response.output_item.done": ("ended", "done"),
            }
        before, after = states[kind]
        now = self.mcp_calls.get(item_id)
        assert now == before, f"{kind} of an item that is {now}"
        self.mcp_calls[item_id] = after
        response = self.open.get(event.get("response_id", ""))
        if kind == "response.output_item.added" and response is not None:
            assert event["output_index"] == len(response), "output indexes must count up"
            response[len(response)] = {"id": item_id, "mcp": True}

    def _item(self, event: dict[str, Any]) -> dict[str, Any]:
        item = self.open[event["response_id"]][event["output_index"]]
        assert event.get("item_id", item["id"]) == item["id"]
        return item

    def _item_added(self, event: dict[str, Any]) -> None:
        items = self.open[event["response_id"]]
        assert event["output_index"] == len(items), "output indexes must count up"
        assert event["item"]["status"] == "in_progress"
        items[len(items)] = {
            "id": event["item"]["id"],
            "open_parts": 0,
            "text": "",
            "sound_over": False,
            "done": None,
        }

    def _part_event(self, kind: str, item: dict[str, Any], event: dict[str, Any]) -> None:
        assert item["done"] is None
        if kind.startswith("response.function_call_arguments"):
            return
        if kind == "response.content_part.added":
            assert item["open_parts"] == 0
            item["open_parts"] = 1
            return
        assert item["open_parts"] == 1, f"{kind} outside of a part"
        match kind:
            case "response.content_part.done":
                item["open_parts"] = 0
            case "response.output_audio.delta":
                assert not item["sound_over"]
            case "response.output_audio.done":
                item["sound_over"] = True
            case "response.output_text.delta" | "response.output_audio_transcript.delta":
                item["text"] += event["delta"]
            case "response.output_text.done":
                assert event["text"] == item["text"]
            case "response.output_audio_transcript.done":
                assert event["transcript"] == item["text"]

    def _response_done(self, response: dict[str, Any]) -> None:
        items = self.open.pop(response["id"])
        for shown, item in zip(response["output"], items.values(), strict=True):
            assert shown["id"] == item["id"]
            assert item.get("mcp") or shown == item["done"], "an item was left open"
        assert response["status"] != "in_progress"
        self.done[response["id"]] = response
