"""A server of the Live API that does what the test says, and refuses what the SDK's docstrings forbid."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from live_types import client_event, proved
from made_upstream import TONE, MadeServer
from pybase64 import b64encode_as_string
from websockets.asyncio.server import ServerConnection

from llmcore.engine import ToolCall, Usage
from voiceagent.conversation.notifications import NotifyResponseEnded
from voiceagent.transports.live.protocol.backend_run import BackendRun

MAX_CHARACTERS = 2_000
"""Longest appended context: 500 tokens of English."""
SILENCE = b64encode_as_string(np.zeros(4_800, "<i2").tobytes())


@dataclass
class MadeLive(MadeServer):
    """A server of the Live API. faults: errors that were sent, which a right client never causes.
    start_error: refuse sessions with this message. answers: as `MadeUpstream`'s.
    """

    faults: list[str] = field(default_factory=list)
    start_error: str = ""
    _session: dict[str, Any] | None = None
    _open_calls: set[str] = field(default_factory=set)
    _now_ms: int = 0

    # ---- as `MadeUpstream`

    def say(self, text: str, pieces: int = 2, done: bool = True) -> str:
        """Words with so many pieces of sound, then silence, which is streamed too. done: False: goes on."""
        for _ in range(pieces):
            self.send("session.output_audio.delta", delta=TONE)
        self._transcript("output", text)
        if done:
            for _ in range(3):
                self.send("session.output_audio.delta", delta=SILENCE)
        return ""

    def call(self, name: str, arguments: str) -> None:
        """A delegated response that calls a function."""
        self._made += 1
        number, call_id = self._made, f"call_{self._made}"
        self._open_calls.add(call_id)
        run = BackendRun(f"resp_{number}", f"delegation_{number}", "gpt-5", 1_700_000_000)
        about = {"id": run.delegation_id, "type": "delegation", "target": "responses"}
        self.send(
            "session.delegation.created",
            delegation=about | {"response_id": run.response_id},
            offset_ms=self._now_ms,
        )
        called = run.call(f"item_{number}", ToolCall(call_id, name, arguments))
        ended = NotifyResponseEnded(run.response_id, "completed", usage=Usage(30, 10, 12))
        for event in (*run.begin(), *called, *run.end(ended)):
            self.send("response.event", delegation_id=run.delegation_id, event=event)

    def hears(self, text: str) -> None:
        """The caller has said this."""
        for number, word in enumerate(text.split()):
            self._transcript("input", word if number == 0 else f" {word}")

    def fail(self, code: str, message: str) -> None:
        """An error, of no event of the client."""
        about = {"type": "rate_limit_error", "code": code, "message": message}
        self.send("error", error=about | {"param": None, "client_event_id": None})

    # ---- what is common to both APIs

    async def until_ready(self) -> dict[str, Any]:
        """The settings of a session that has started: instructions, names of tools, voice."""
        session = (await self.until("session.start"))["session"]
        backend = session["delegation"]["responses"]
        return {
            "instructions": session["instructions"],
            "tools": [tool["name"] for tool in backend["tools"]],
            "voice": session["audio"]["output"]["voice"],
        }

    async def until_result(self) -> dict[str, Any]:
        """The result of a function."""
        return dict((await self.until("response.item.create"))["item"])

    async def until_asked(self) -> str:
        """The request for the words about a result."""
        return str((await self.until("response.create"))["type"])

    def history_of(self, connection: int) -> list[tuple[str, str]]:
        """Return the history that a connection was given: roles and texts."""
        opened = self.received[connection][:1]  # empty until its first event has come
        given = [item for event in opened for item in event["session"].get("input", [])]
        return [(item["role"], item["content"][0]["text"]) for item in given]

    # ---- the connection

    def send(self, kind: str, **fields: Any) -> None:
        """Send an event, if it is one of the API."""
        known = {} if kind == "session.output_audio.delta" else {"event_id": "event_1"}
        self._to_send.put_nowait(proved({"type": kind, **known, **fields}))

    def _transcript(self, side: str, delta: str) -> None:
        begin_ms, self._now_ms = self._now_ms, self._now_ms + 200
        self.send(f"session.{side}_transcript.delta", delta=delta, start_ms=begin_ms, end_ms=self._now_ms)

    async def serve_events(self, connection: ServerConnection) -> None:
        """See `MadeServer`."""
        request = connection.request
        assert request is not None
        self.handshakes.append((request.path, request.headers.get("Authorization")))
        received: list[dict[str, Any]] = []
        self.received.append(received)
        self._to_send, self._session = asyncio.Queue(), None
        sending = asyncio.create_task(self._send_all(connection))
        try:
            async for message in connection:
                event = json.loads(message)
                fault = self._fault(event)
                if fault:
                    self.faults.append(fault)
                    about = {"type": "invalid_request_error", "code": "invalid_value", "message": fault}
                    named = {"param": None, "client_event_id": event.get("event_id")}
                    self.send("error", error=about | named)
                    continue
                received.append(event)
                if event["type"] == "session.start":
                    self.send("session.started", session=self._session)
                self._happened.set()
                self.answers(self, event)
        finally:
            sending.cancel()

    def _fault(self, event: dict[str, Any]) -> str:
        """Return why an event is refused, "" if it is accepted."""
        try:
            client_event(**event)
        except (ValueError, AssertionError) as error:
            return f"{event}: {error!r}"
        kind = event["type"]
        if (kind == "session.start") != (self._session is None):
            return f"{kind} came before the session started, or again"
        if kind == "session.start":
            return self._start(event["session"])
        if kind.endswith("s.append") or kind == "session.thinking.append":
            return self._context_fault(event)
        if kind == "session.update" and not event["session"].keys() <= {"delegation", "triggers"}:
            return f"an update cannot change {sorted(event['session'])}"
        if kind == "response.item.create" and event["item"].get("type") == "function_call_output":
            if event["item"]["call_id"] not in self._open_calls:
                return f"no function call {event['item']['call_id']!r} waits for its output"
            self._open_calls.remove(event["item"]["call_id"])
        if kind == "response.create" and self._open_calls:
            return f"outputs are missing: {self._open_calls}"
        return ""

    def _start(self, session: dict[str, Any]) -> str:
        if self.start_error:
            return self.start_error
        history = session.get("input", [])
        if len(history) > 128 or any(len(item["content"]) != 1 for item in history):
            return "input has more than 128 messages, or one without exactly one text"
        fixed = {"id": "live_1", "expires_at": 1_700_000_000, "status": "active"}
        self._session = session | fixed
        return ""

    def _context_fault(self, event: dict[str, Any]) -> str:
        if "delegation_id" not in event or event["delegation_id"] is not None:
            return "delegation_id is required, and null with Responses delegation"
        if not event["content"] or len(event["content"]) > MAX_CHARACTERS:
            return f"content has {len(event['content'])} characters"
        return ""
