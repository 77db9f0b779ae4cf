"""A call to a running server over the Realtime API, spoken or typed: `voiceagent talk --url`."""

from __future__ import annotations

import asyncio
import json
import time
from base64 import b64decode, b64encode
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus
from websockets.frames import CloseCode

from audio.pcm import Samples
from voiceagent.conversation.latency import StageTime, TurnCounts, TurnReport
from voiceagent.transports.local_call import (
    FORMAT,
    IGNORED,
    SETTLE_S,
    CallListener,
    Exchange,
    PacedSound,
    PlayedResponse,
)
from voiceagent.validation.errors import CommandFailed, reason_of

SILENCE = np.zeros(round(FORMAT.rate_hz * 0.02), np.int16)
GREETING_S = 0.5
"""Time within which an agent that speaks first has begun."""
ANSWER_TIMEOUT_S = 60.0
"""Timeout of an answer."""
TOOL_SPEECH_S = 3.0
"""Time within which speech about a tool's result, if any, has begun."""
OVERFLOW = "input_audio_buffer_overflow"
"""Error code of dropped audio, after a stall of this machine for example; the call continues."""
REPORT_S = 0.3
"""Time after a response's end within which its latencies arrive."""


class RemoteCall:
    """A call to a running server, spoken by this program. Methods raise CommandFailed if it breaks off."""

    def __init__(self, connection: ClientConnection, listener: CallListener = IGNORED) -> None:
        self._connection = connection
        self._listener = listener
        self._exchange = Exchange()
        self._open_turns = 0
        self._open_responses = 0
        self._open_tools: set[str] = set()
        self._ended = ""
        self._speech_due = False  # speech about a tool's result is due
        self._over = asyncio.Event()
        self._pacer = PacedSound(lambda _: None, time.monotonic)

    async def read(self) -> None:
        """Process messages until the connection ends, then release all waits."""
        with suppress(ConnectionClosed):
            async for message in self._connection:
                event = json.loads(message)
                self._notify_listener(event)
                self._on_event(event)
        self._ended = f"the server ended the call: {self._connection.close_reason or 'it broke off'}"
        if self._connection.close_code != CloseCode.NORMAL_CLOSURE:  # NORMAL_CLOSURE: the agent hung up
            self._exchange.failures.append(self._ended)
        self._open_turns = self._open_responses = 0
        self._over.set()

    async def greeted(self) -> None:
        """Enable latency events, and listen to the greeting, if there is one."""
        await self._request("session.update", session={"type": "realtime", "voiceagent": {"latency": True}})
        await asyncio.sleep(GREETING_S)
        while self._open_responses:
            await self._over.wait()
            self._over.clear()
        await asyncio.sleep(REPORT_S)

    async def say(self, sound: Samples) -> Exchange:
        """Speak `sound` [n] at 24 kHz in real time, then stay silent until the agent has answered."""
        if not self._begin():
            return self._exchange
        await self._send(sound)
        silent_s = 0.0
        while not self._ended and (
            silent_s < SETTLE_S or self._open_turns or self._open_responses or not self._over.is_set()
        ):
            await self._send(SILENCE)
            silent_s += len(SILENCE) / FORMAT.rate_hz
            if silent_s > ANSWER_TIMEOUT_S:
                raise CommandFailed(f"no answer came within {ANSWER_TIMEOUT_S:.0f} s")
        await asyncio.sleep(REPORT_S)
        return self._exchange

    async def type(self, text: str) -> Exchange:
        """Send a text message and return the answer."""
        if not self._begin():
            return self._exchange
        content = [{"type": "input_text", "text": text}]
        await self._request(
            "conversation.item.create", item={"type": "message", "role": "user", "content": content}
        )
        await self._request("response.create")
        try:
            async with asyncio.timeout(ANSWER_TIMEOUT_S):
                await self._over.wait()
        except TimeoutError as error:
            raise CommandFailed(f"no answer came within {ANSWER_TIMEOUT_S:.0f} s") from error
        await asyncio.sleep(REPORT_S)
        return self._exchange

    def _begin(self) -> bool:
        """Begin an exchange; return False, with the reason in the exchange, if the call is over."""
        self._exchange = Exchange()
        if self._ended:
            self._exchange.failures.append(f"not said: {self._ended}")
            return False
        self._open_tools, self._speech_due = set(), False
        self._over.clear()
        self._pacer.at_s = time.monotonic()
        return True

    async def _send(self, sound: Samples) -> None:
        for start in range(0, len(sound), len(SILENCE)):
            frame = sound[start : start + len(SILENCE)]
            await self._pacer.send(frame)
            if self._ended:
                return
            audio = b64encode(frame.astype("<i2").tobytes()).decode("ascii")
            await self._request("input_audio_buffer.append", audio=audio)

    async def _request(self, kind: str, **fields: Any) -> None:
        try:
            await self._connection.send(json.dumps({"type": kind, **fields}))
        except ConnectionClosed:
            await asyncio.sleep(0)  # `read` reports the reason

    def _notify_listener(self, event: Mapping[str, Any]) -> None:
        match event["type"]:
            case "conversation.item.input_audio_transcription.delta":
                self._listener.on_caller(event["delta"], final=False)
            case "conversation.item.input_audio_transcription.completed":
                self._listener.on_caller(event["transcript"], final=True)
            case "response.output_audio_transcript.delta" | "response.output_text.delta":
                self._listener.on_agent(event["delta"])
            case "response.done":
                self._listener.on_response_ended()

    def _on_event(self, event: Mapping[str, Any]) -> None:
        exchange = self._exchange
        match event["type"]:
            case "input_audio_buffer.speech_started":
                self._open_turns += 1
            case "conversation.item.input_audio_transcription.completed":
                self._open_turns -= 1
                exchange.understood.append(event["transcript"])
            case "conversation.item.input_audio_transcription.failed":
                self._open_turns -= 1
                exchange.failures.append(event["error"]["message"])
            case "response.created":
                self._open_responses += 1
                self._speech_due = self._speech_due and bool(self._open_tools)
                exchange.answered.append("")
                exchange.responses.append(PlayedResponse())
            case "response.output_audio_transcript.delta" | "response.output_text.delta" if exchange.answered:
                exchange.answered[-1] += event["delta"]
            case "response.output_audio.delta":
                exchange.frames.append(np.frombuffer(b64decode(event["delta"]), "<i2").astype(np.int16))
                self._listener.on_audio(exchange.frames[-1])
            case "conversation.item.done" if event["item"]["type"] == "function_call":
                self._open_tools.add(event["item"]["call_id"])
                exchange.tools.append(f"{event['item']['name']}({event['item']['arguments']})")
            case "conversation.item.done" if event["item"]["type"] == "function_call_output":
                self._open_tools.discard(event["item"]["call_id"])
                self._speech_due = True
                exchange.tools.append(f"-> {event['item']['output']}")
                self._limit_waiting()
            case "response.done":
                self._done(event["response"])
            case "voiceagent.latency":
                exchange.reports.append(_report(event))
            case "error" if event["error"]["code"] == OVERFLOW:
                exchange.notices.append(event["error"]["message"])
            case "error":
                exchange.failures.append(event["error"]["message"])
                self._over.set()

    def _limit_waiting(self) -> None:
        """Wait for speech about a tool's result for `TOOL_SPEECH_S`."""
        exchange = self._exchange
        loop = asyncio.get_running_loop()
        loop.call_later(TOOL_SPEECH_S, self._stop_waiting, exchange, len(exchange.tools))

    def _stop_waiting(self, exchange: Exchange, tool_lines: int) -> None:
        """Stop waiting for speech about a tool's result, which some tools, such as a transfer, do not need.

        tool_lines: number of tool lines at the time; if there are more, speech about a later tool may be due.
        """
        latest = exchange is self._exchange and len(exchange.tools) == tool_lines
        if latest and not (self._open_tools or self._open_responses):
            self._over.set()

    def _done(self, response: Mapping[str, Any]) -> None:
        self._open_responses -= 1
        if self._exchange.responses:
            self._exchange.responses[-1].cut = response["status"] == "cancelled"
        failed = response["status"] == "failed"
        if failed:
            self._exchange.failures.append(str(response.get("status_details")))
        # A response that calls tools is followed by another, even if it has text.
        spoken = "".join(self._exchange.answered).strip() and not (self._open_tools or self._speech_due)
        if failed or spoken:
            self._over.set()
        elif self._speech_due:  # the result may have been spoken before its item came
            self._limit_waiting()


@asynccontextmanager
async def remote_call(
    url: str, model: str, key: str, listener: CallListener = IGNORED
) -> AsyncIterator[RemoteCall]:
    """Open a call to the server at `url` and listen to the greeting; other arguments as for `connected`.

    Raises CommandFailed.
    """
    async with connected(url, model, key) as connection:
        call = RemoteCall(connection, listener)
        reading = asyncio.create_task(call.read())
        try:
            await call.greeted()
            yield call
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)


@asynccontextmanager
async def connected(url: str, model: str, key: str) -> AsyncIterator[ClientConnection]:
    """Connect to the server at `url`, such as "http://127.0.0.1:8080". Raises CommandFailed.

    model: names the agent. key: "" for none.
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise CommandFailed(f"--url {url!r}: allowed: http://<host>:<port>, or https")
    address = f"{parts.scheme.replace('http', 'ws')}://{parts.netloc}{parts.path.rstrip('/')}/v1/realtime"
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    try:
        connection = await connect(f"{address}?model={model}", additional_headers=headers, max_size=None)
    except InvalidStatus as error:
        body = (error.response.body or b"").decode(errors="replace")[:300]
        raise CommandFailed(f"{url}: HTTP {error.response.status_code}: {body}") from error
    except (OSError, InvalidHandshake, TimeoutError) as error:
        raise CommandFailed(f"{url}: no server answers there: {reason_of(error)}") from error
    async with connection:
        yield connection


def _report(event: Mapping[str, Any]) -> TurnReport:
    """Return the report in a `voiceagent.latency` event."""
    stages = tuple(
        StageTime(
            stage["name"],
            round(stage["ms"] * 1000),
            None if stage["budget_ms"] is None else stage["budget_ms"] / 1000,
            round(stage.get("hidden_ms", 0) * 1000),
        )
        for stage in event["stages"]
    )
    budget_s = None if event["budget_ms"] is None else event["budget_ms"] / 1000
    over_budget = tuple(event["over_budget"])
    return TurnReport(event["turn_id"], event["outcome"], stages, over_budget, TurnCounts(), budget_s)
