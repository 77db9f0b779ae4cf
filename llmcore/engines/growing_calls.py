"""Assembly of a streamed reply's tool calls from their pieces.

A name or id is never split: a server repeats it in each piece, or sends it once. If neither an index nor an
id separates two calls, the end of the first one's JSON does.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from llmcore.text.call_arguments import read_arguments
from llmcore.text.written_calls import value_end


@dataclass(slots=True)
class GrowingCall:
    """One call. extra: further fields of the server's call. of_function: further fields of its `function`."""

    call_id: str = ""
    name: str = ""
    pieces: list[str] = field(default_factory=list)
    extra: dict[str, Any] = field(default_factory=dict)
    of_function: dict[str, Any] = field(default_factory=dict)

    @property
    def arguments(self) -> str:
        """Arguments as JSON text.

        Some servers send all arguments so far with each piece, or an empty object before the real one;
        some encode the object twice, or send `null` for a tool without arguments.
        """
        joined = _decoded("".join(self.pieces).strip())
        if not joined or is_whole(joined):
            return read_arguments(joined) or "{}"
        last = self.pieces[-1]
        return last if is_whole(last) and len(last) > 2 else read_arguments(joined)

    def is_other(self, call_id: str, name: str) -> bool:
        """Return True if a piece with this id and name, at this call's index, begins another call."""
        if not name:
            return False
        joined = "".join(self.pieces).strip()
        ended = is_whole(joined) and joined != "{}"
        if call_id and self.call_id:
            # some servers send a new id with each piece of one call
            return call_id != self.call_id and (ended or name != self.name or joined in ("", "{}"))
        return ended or bool(self.name and name != self.name)


def _decoded(text: str) -> str:
    """Return the object that a JSON string has as its text, "" for null, and any other text as it is."""
    if text == "null":
        return ""
    if not text.startswith('"'):
        return text
    try:
        return str(json.loads(text, strict=False)).strip()
    except ValueError:
        return text


def is_whole(text: str) -> bool:
    """Return True if the text is one complete JSON object."""
    text = text.strip()
    if not text.startswith("{") or value_end(text) != (len(text), True):
        return False
    try:
        json.loads(text, strict=False)
    except ValueError:
        return False
    return True


class GrowingCalls:
    """All calls of one reply, in order of their first pieces."""

    def __init__(self) -> None:
        self._calls: list[GrowingCall] = []
        self._newest: dict[int | None, GrowingCall] = {}

    def add(self, piece: Mapping[str, Any]) -> None:
        """Add a piece: an entry of `tool_calls` as the server sent it."""
        function = piece.get("function") or {}
        index, call_id, name = piece.get("index"), str(piece.get("id") or ""), str(function.get("name") or "")
        call = self._newest.get(index)
        if call is None and index is None and not (call_id or name) and self._calls:
            call = self._calls[-1]
        if call is None or call.is_other(call_id, name):
            call = GrowingCall()
            self._calls.append(call)
        self._newest[index] = call
        call.call_id, call.name = call.call_id or call_id, call.name or name
        arguments = function.get("arguments")
        if arguments:  # some servers send an object instead of text
            call.pieces.append(arguments if isinstance(arguments, str) else json.dumps(arguments))
        merge(call.extra, {key: value for key, value in piece.items() if key not in _CALL_FIELDS})
        merge(
            call.of_function, {key: value for key, value in function.items() if key not in _FUNCTION_FIELDS}
        )

    def calls(self) -> list[GrowingCall]:
        """Return the calls, without entries that have neither name nor arguments."""
        return [call for call in self._calls if call.name or call.pieces]


_CALL_FIELDS = ("index", "id", "type", "function")
_FUNCTION_FIELDS = ("name", "arguments")
_STREAMED = ("reasoning_content", "reasoning", "text", "summary", "data", "thinking")
"""Fields whose text is streamed in pieces; for all others the newest value replaces the older."""


def merge(known: dict[str, Any], more: Mapping[str, Any]) -> None:
    """Merge the fields of a further piece of a stream into the known ones."""
    for key, value in more.items():
        before = known.get(key)
        if value is None:
            continue
        if isinstance(before, dict) and isinstance(value, dict):
            merge(before, value)
        elif isinstance(before, list) and isinstance(value, list):
            _merge_lists(before, value)
        elif isinstance(before, str) and isinstance(value, str) and key in _STREAMED:
            known[key] = before + value
        else:
            known[key] = value


def _merge_lists(known: list[Any], more: list[Any]) -> None:
    """Merge entries of the same index or id; append all others."""
    for value in more:
        identity = _identity(value)
        same = next((each for each in known if identity is not None and _identity(each) == identity), None)
        if same is None:
            known.append(value)
        else:
            merge(same, value)


def _identity(value: Any) -> tuple[Any, Any] | None:
    if not isinstance(value, dict) or value.get("index", value.get("id")) is None:
        return None
    return value.get("type"), value.get("index", value.get("id"))
