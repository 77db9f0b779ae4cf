"""`/v1/realtime`: a call over a WebSocket, in the OpenAI Realtime protocol.

Query: `model`. A key comes as `Authorization: Bearer` or as subprotocol `openai-insecure-api-key.<key>`; the
subprotocol `realtime` is answered where it is offered. A message that is too long never comes here: uvicorn
closes with code 1009 (`ws_max_size`).
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Coroutine
from dataclasses import dataclass
from typing import Any

import structlog
from starlette.responses import JSONResponse
from starlette.websockets import WebSocket, WebSocketDisconnect

from audio.pcm import Samples
from voiceagent.access.access_control import Admission, NotAdmitted
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.latency import TurnReport
from voiceagent.session.call import Call, CallRefused, OpenCall
from voiceagent.transports.outbox import Outbox
from voiceagent.transports.realtime.encode import Encoder
from voiceagent.transports.realtime.requests import Requests, new_id
from voiceagent.transports.uvicorn_internals import EXTENSION, TURN_MESSAGES, FastPath

log = structlog.get_logger()

CLOSE_S = 5.0
"""How long a client may take to read what is left, and the close frame."""


class WebSocketClient:
    """The far end of a call as the session sees it: encodes and queues."""

    def __init__(self, call_id: str) -> None:
        self.outbox: Outbox[str] = Outbox()
        self._encoder = Encoder(call_id, new_id("conv"))

    def notify(self, notification: notify.Notification) -> None:
        """Tell the client something."""
        for event in self._encoder.encode(notification):
            self.outbox.put(_to_json(event))

    def play(self, response_id: str, frame: Samples) -> None:
        """Send sound of a response, int16 mono at the rate of the call's output format."""
        text = self._encoder.encode_audio(response_id, frame)
        if text is not None:
            self.outbox.put(text, sound=True)

    def clear(self) -> None:
        """Drop the sound that has not been sent; what the client has, it drops by itself."""
        self.outbox.drop_sound()

    def report(self, turn: TurnReport) -> None:
        """Tell the stages of a turn."""
        self.outbox.put(_to_json(self._encoder.encode_report(turn)))


@dataclass(frozen=True, slots=True)
class _Ending:
    """Why a call is over; `code` is the WebSocket's close code, None where the client has gone already."""

    reason: str
    code: int | None = None


class RealtimeEndpoint:
    """Serves calls."""

    def __init__(self, open_call: OpenCall, admission: Admission) -> None:
        self._open_call = open_call
        self._admission = admission

    async def serve(self, websocket: WebSocket) -> None:
        """One connection, from its handshake to the end of its call: the endpoint of a `WebSocketRoute`."""
        try:
            session = self._admission.admit(websocket.headers)
        except NotAdmitted as refused:
            await _deny(websocket, refused.status, refused.code, str(refused))
            return
        query = websocket.query_params
        if "call_id" in query or query.get("intent", "conversation") != "conversation":
            message = f"{websocket.url.query!r}: only new conversations are served here; allowed: model"
            await _deny(websocket, 400, "invalid_value", message)
            return
        call_id = new_id("sess")
        client = WebSocketClient(call_id)
        try:
            call = self._open_call(call_id, client, query.get("model", ""))
        except CallRefused as refused:
            await _deny(websocket, refused.status, "call_refused", str(refused), refused.headers)
            return
        ending = _Ending("the connection was cut off")
        try:
            offered = websocket.scope["subprotocols"]
            await websocket.accept(subprotocol="realtime" if "realtime" in offered else None)
            ending = await _Connection(websocket, call, client).run(session)
        finally:
            await call.close(ending.reason)
        await _hang_up(websocket, client.outbox, ending)


class _Connection:
    """One open connection: reads until the client goes, writes until it stops reading."""

    def __init__(self, websocket: WebSocket, call: Call, client: WebSocketClient) -> None:
        self._websocket = websocket
        self._call = call
        self._client = client
        self._requests = Requests(call, client)
        self._fast_path: FastPath | None = websocket.scope["extensions"].get(EXTENSION)
        self._failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def run(self, session: dict[str, Any]) -> _Ending:
        """Run the call to its end. session: fields of the session that it begins with."""
        self._requests.start(session)
        self._call.begin()
        work: list[Coroutine[Any, Any, _Ending]] = [
            self._read(),
            self._write(),
            _after(self._client.outbox.overflowed(), _Ending("the client does not read", 1008)),
            _after(self._call.ended(), _Ending("the call ended on the server", 1011)),
            _after(self._failed, _Ending("the server failed", 1011)),
        ]
        tasks = [asyncio.create_task(coroutine) for coroutine in work]
        if self._fast_path is not None:
            self._fast_path.take = self._take_now
            self._client.outbox.send_now = self._fast_path.send_now
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            if self._fast_path is not None:
                self._fast_path.take = self._client.outbox.send_now = None
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        try:
            return done.pop().result()
        except Exception:
            log.exception("connection_failed")
            return _Ending("the server failed", 1011)

    async def _read(self) -> _Ending:
        taken = 0
        while True:
            message = await self._websocket.receive()
            if message["type"] == "websocket.disconnect":
                return _Ending(f"the client left ({message.get('code')})")
            text = message.get("text")
            self._requests.take(message["bytes"] if text is None else text)
            taken += 1
            if taken % TURN_MESSAGES == 0:
                await asyncio.sleep(0)

    async def _write(self) -> _Ending:
        try:
            while True:
                await self._websocket.send_text(await self._client.outbox.next())
        except (WebSocketDisconnect, RuntimeError):  # RuntimeError: uvicorn has closed it of its own accord
            return _Ending("the client left")

    def _take_now(self, text: str) -> None:
        try:
            self._requests.take(text)
        except Exception as error:  # as in `_read`, but there is no task here for it to end
            if not self._failed.done():
                self._failed.set_exception(error)


async def _after(moment: Awaitable[None], ending: _Ending) -> _Ending:
    await moment
    return ending


async def _hang_up(websocket: WebSocket, outbox: Outbox[str], ending: _Ending) -> None:
    """Close the socket of a call that is over, as far as the client lets us."""
    if ending.code is None:
        return
    try:
        async with asyncio.timeout(CLOSE_S):
            while len(outbox):
                await websocket.send_text(await outbox.next())
            await websocket.close(ending.code, ending.reason)
    except (TimeoutError, WebSocketDisconnect, RuntimeError):
        log.info("closed_without_goodbye", reason=ending.reason)


async def _deny(
    websocket: WebSocket, status: int, code: str, message: str, headers: dict[str, str] | None = None
) -> None:
    error = {"type": "invalid_request_error", "code": code, "message": message, "param": None}
    await websocket.send_denial_response(JSONResponse({"error": error}, status, headers))


def _to_json(event: dict[str, Any]) -> str:
    return json.dumps(event, separators=(",", ":"))
