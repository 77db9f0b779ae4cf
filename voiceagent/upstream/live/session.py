"""Settings and history for a Live session. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from voiceagent.upstream.messages import UPSTREAM_HZ, Event

MAX_MESSAGES = 128
"""Longest history of a session that starts, as in the API; the newest are sent."""
PIECE_CHARACTERS = 1_000
"""Longest appended text; longer ones are sent in pieces. The API takes 500 tokens: about 2,000 characters of
English, fewer in other scripts.
"""
SILENT_TURNS = (
    "From now on do not answer the caller by yourself, whatever the caller says: the application listens. "
    "Say only what it gives you."
)
FREE_TURNS = "From now on answer the caller by yourself again."
_SENTENCE = re.compile(r".+?(?:[.!?;:\n]\s+|$)", re.DOTALL)


def started(update: Event, items: Sequence[Event], model: str, backend_model: str) -> Event:
    """Return the `session.start` for settings and history, given as events of the Realtime API."""
    given = update["session"]
    instructions = given["instructions"]
    if is_claimed(update):
        instructions = f"{instructions}\n\n{SILENT_TURNS}".lstrip()
    session: dict[str, Any] = {
        "model": model,
        "instructions": instructions,
        "audio": {
            "format": {"type": "audio/pcm", "rate": UPSTREAM_HZ},
            "output": {"voice": given["audio"]["output"]["voice"]},
        },
        "delegation": {"type": "responses", "responses": {"model": backend_model} | backend(update)},
    }
    history = [message for item in items for message in _history(item["item"])]
    if history:
        session["input"] = history[-MAX_MESSAGES:]
    return {"type": "session.start", "session": session}


def backend(update: Event) -> dict[str, Any]:
    """Return the settings of the Responses backend: instructions, tools and limits."""
    given = update["session"]
    limit = given["max_output_tokens"]
    return {
        "instructions": given["instructions"],
        "tools": given["tools"],
        "tool_choice": given["tool_choice"],
    } | ({"max_output_tokens": limit} if isinstance(limit, int) else {})


def is_claimed(update: Event) -> bool:
    """Return True if the agent's code handles the caller's turns itself."""
    detection = given if (given := update["session"]["audio"]["input"]["turn_detection"]) else {}
    return detection.get("create_response") is False


def appended(kind: str, text: str, event_id: str | None = None) -> list[Event]:
    """Return the events that append a text as context: "instructions", "thinking" or "commentary". The last
    has the event id.
    """
    place: Event = {"type": f"session.{kind}.append", "delegation_id": None}
    events = [place | {"content": piece} for piece in pieces(text)]
    if events and event_id is not None:
        events[-1]["event_id"] = event_id
    return events


def pieces(text: str) -> list[str]:
    """Return a text in pieces of at most `PIECE_CHARACTERS`, cut at sentences where possible."""
    made: list[str] = []
    for part in _parts(text):
        if made and len(made[-1]) + len(part) <= PIECE_CHARACTERS:
            made[-1] += part
        else:
            made.append(part)
    return [piece.strip() for piece in made if piece.strip()]


def text_of(item: Event) -> str:
    """Return the text of a message item."""
    parts = (str(part.get("text") or "") for part in item.get("content") or ())
    return " ".join(filter(None, parts))


def _parts(text: str) -> Iterator[str]:
    for match in _SENTENCE.finditer(text):
        sentence = match.group()
        for at in range(0, len(sentence), PIECE_CHARACTERS):
            yield sentence[at : at + PIECE_CHARACTERS]


def _history(item: Event) -> Iterator[Event]:
    """Yield the messages for an item. The API takes text alone: results of tools become notes."""
    match item["type"]:
        case "message":
            role = "developer" if item["role"] == "system" else item["role"]
            text = text_of(item)
        case "function_call":
            role, text = "developer", f"The function {item['name']} was called with {item['arguments']}."
        case _:
            role, text = "developer", f"Its result was: {item['output']}"
    kind = "output_text" if role == "assistant" else "input_text"
    if text.strip():
        yield {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}
