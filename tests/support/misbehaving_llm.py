"""A chat completions server with the irregularities of real ones. Each caller names one of them in brackets.

"[well] 7: a table please" is answered well; "[no finish] 7: ..." by a stream without a finish reason; and so
on. The number is the caller's; the requests of each turn are counted by it.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections import defaultdict
from collections.abc import AsyncGenerator, Iterator
from dataclasses import dataclass, field
from typing import Any

from chat_server import chunk, event
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

WORDS = "Your table is booked."
RESULT = "at eight"
AFTER_TOOL = f"It is {RESULT}."
DONE = "data: [DONE]\n\n"

_FINISH_WORDS = ("eos", "end_turn", "STOP", "MAX_TOKENS", "COMPLETE", "abort", "null")
_CALLS = {
    "call": [{"index": 0, "id": "call_1", "function": {"name": "look", "arguments": "{}"}}],
    "call without id": [{"function": {"name": "look", "arguments": "{}"}}],
    "signed call": [
        {
            "index": 0,
            "id": "call_1",
            "function": {"name": "look", "arguments": "{}"},
            "extra_content": {"google": {"thought_signature": "Q0FGRQ=="}},
        }
    ],
    "failing tool": [{"index": 0, "id": "call_1", "function": {"name": "fail", "arguments": "{}"}}],
    "hanging tool": [{"index": 0, "id": "call_1", "function": {"name": "hang", "arguments": "{}"}}],
    "circle": [{"index": 0, "id": "call_1", "function": {"name": "look", "arguments": "{}"}}],
    "unknown tool": [{"index": 0, "id": "call_1", "function": {"name": "no_such", "arguments": "{}"}}],
    "broken arguments": [{"index": 0, "id": "call_1", "function": {"name": "look", "arguments": '{"a": '}}],
}
_TEXTS = {
    "think": f"<think>\nThe caller wants a table.\n</think>\n\n{WORDS}",
    "empty think": f"<think>\n\n</think>\n\n{WORDS}",
    "half think": f"The caller wants a table.\n</think>\n\n{WORDS}",
    "harmony": (
        "<|channel|>analysis<|message|>We need to greet.<|end|>"
        f"<|start|>assistant<|channel|>final<|message|>{WORDS}"
    ),
    "call as hermes": '<tool_call>\n{"name": "look", "arguments": {}}\n</tool_call>',
    "call as llama": "<function=look>{}</function>",
    "call as json": '{"name": "look", "arguments": {}}',
    "call with doubled braces": '{{"name": "look", "arguments": {}}}',
}

ANSWERED = (
    "well",
    "slow",
    "no finish",
    "one 500",
    *(f"finish {word}" for word in _FINISH_WORDS),
    *(name for name in _TEXTS if not name.startswith("call")),
)
"""Habits after which the caller is answered with WORDS."""
TOOL_ANSWERED = (
    "call",
    "call without id",
    "signed call",
    "words and call",
    *(name for name in _TEXTS if name.startswith("call")),
)
"""Habits after which the caller is answered with AFTER_TOOL."""
ANSWERED_SOMEHOW = ("failing tool", "hanging tool", "unknown tool", "broken arguments")
"""Habits after which the agent mentions a tool's failure, or apologises."""
APOLOGISED = ("empty", "blank", "filtered", "error in stream", "403", "circle")
"""Habits for which the caller gets an apology."""
HABITS = (*ANSWERED, *TOOL_ANSWERED, *ANSWERED_SOMEHOW, *APOLOGISED)


@dataclass
class MisbehavingLlm:
    """The server and its records. requests: bodies of requests for an answer, by caller; no warm-ups."""

    requests: dict[str, list[dict[str, Any]]] = field(default_factory=lambda: defaultdict(list))
    stopped: set[str] = field(default_factory=set)

    def app(self) -> Starlette:
        """Return the server."""

        async def models(_: Request) -> Response:
            return JSONResponse({"object": "list", "data": []})

        routes = [
            Route("/v1/chat/completions", self._complete, methods=["POST"]),
            Route("/v1/models", models),
        ]
        return Starlette(routes=routes)

    async def _complete(self, request: Request) -> Response:
        body = json.loads(await request.body())
        messages = body["messages"]
        asked = [message["content"] for message in messages if message["role"] == "user"]
        found = re.search(r"\[([^\]]+)\] (\d+)", str(asked[-1])) if asked else None
        if found is None:
            return _streamed([event(chunk({"content": "Hello."})), event(chunk({}, "stop")), DONE])
        habit, caller = found.groups()
        self.requests[caller].append(body)
        if habit == "403":
            return JSONResponse({"error": {"message": "flagged by moderation"}}, 403)
        if habit == "one 500" and len(self.requests[caller]) == 1:
            return JSONResponse({"error": {"message": "try again"}}, 500)
        if habit == "signed call" and not _signatures_came_back(messages):
            return JSONResponse({"error": {"message": "missing thought_signature"}}, 400)
        if habit == "slow":
            await asyncio.sleep(1.0)
        answered = messages[-1]["role"] == "tool" or any(
            message["role"] == "tool" for message in messages[_last_user(messages) :]
        )
        return _streamed(_events(habit, answered, bool(body.get("tools"))))


def _last_user(messages: list[dict[str, Any]]) -> int:
    return max(place for place, message in enumerate(messages) if message["role"] == "user")


def _signatures_came_back(messages: list[dict[str, Any]]) -> bool:
    calls = [call for message in messages for call in message.get("tool_calls") or ()]
    return all("extra_content" in call for call in calls)


def _streamed(events: list[str]) -> Response:
    async def stream() -> AsyncGenerator[str, None]:
        for one in events:
            yield one
            await asyncio.sleep(0)

    return StreamingResponse(stream(), media_type="text/event-stream")


def _text(text: str) -> Iterator[str]:
    """Yield a text in pieces of five characters."""
    for place in range(0, len(text), 5):
        yield event(chunk({"content": text[place : place + 5]}))


def _events(habit: str, answered: bool, may_call: bool) -> list[str]:
    """Return the events of a reply.

    answered: the tool's result is in the messages. may_call: tools are offered.
    """
    end = [event(chunk({}, "stop")), DONE]
    if habit in _CALLS or habit in TOOL_ANSWERED:
        if answered and habit != "circle":
            return [*_text(AFTER_TOOL), *end]
        if not may_call:
            return [event(chunk({"content": ""})), *end]
    if habit in _CALLS:
        return [event(chunk({"tool_calls": _CALLS[habit]})), event(chunk({}, "tool_calls")), DONE]
    if habit == "words and call":
        call = event(chunk({"tool_calls": _CALLS["call"]}))
        return [*_text("Let me look. "), call, event(chunk({}, "tool_calls")), DONE]
    if habit in _TEXTS:
        return [*_text(_TEXTS[habit]), *end]
    match habit:
        case "no finish":
            return [*_text(WORDS), DONE]
        case "empty":
            return [event(chunk({"role": "assistant"})), *end]
        case "blank":
            return [event(chunk({"content": " \n "})), *end]
        case "filtered":
            return [event(chunk({}, "content_filter")), DONE]
        case "error in stream":
            return [event({"error": {"message": "flagged", "code": "content_filter"}}), DONE]
    finish = habit.removeprefix("finish ") if habit.startswith("finish ") else "stop"
    return [*_text(WORDS), event(chunk({}, finish)), DONE]
