"""Routes of the inspector; the package docstring specifies their responses."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import Any

import structlog
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Route

from audio.detection.vad import SileroVad, VadError
from voiceagent.access.access_control import TICKET_S, Admission
from voiceagent.access.requester import NotAdmitted
from voiceagent.calls.call_speech import call_speech
from voiceagent.calls.export import export
from voiceagent.calls.kept_call import PEAKS_NAME, RECORDING_NAME
from voiceagent.calls.log.event_log import LogError
from voiceagent.calls.log.logged_speech import logged_speech
from voiceagent.calls.places import (
    PIECE_BYTES,
    PlaceError,
    names_at,
    read_at,
    read_log_at,
    recording_of,
    sizes_at,
)
from voiceagent.calls.replaying.replay import CannotReplay
from voiceagent.calls.rows import CallRow, Cursor
from voiceagent.calls.store import CallStore, StoreError
from voiceagent.inspector.queries import BadQuery, byte_range, call_query, cursor_text, is_call_id
from voiceagent.inspector.reading import Follower, Readers, document, replayed, shown
from voiceagent.scores.scorecard import scorecard
from voiceagent.transports.live.webrtc import PATH as LIVE_PATH
from voiceagent.transports.realtime.sidebands.messages import LIVE_PREFIX
from voiceagent.transports.websocket import address_of
from voiceagent.validation.errors import shorten

PREFIX = "/v1/calls"
COOKIE = "voiceagent_calls"
FOLLOW_S = 1.0
"""Polling interval for a running call."""
MAX_FOLLOWERS = 20
"""Maximum concurrent followers in one process."""
_HEADERS = {
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
}
_TYPES = {".wav": "audio/wav", ".ogg": "audio/ogg", "": "application/octet-stream"}

Answer = Callable[[Request], Awaitable[Response]]
log = structlog.get_logger()


class NotFound(Exception):
    """A missing call or file. The text names it."""


class Inspector:
    """Serves the calls in `store` to requests that `admission` accepts."""

    def __init__(self, store: CallStore, admission: Admission) -> None:
        self._store = store
        self._admission = admission
        self._readers = Readers()
        self._replaying = asyncio.Lock()
        self._scoring = asyncio.Lock()
        self._followers = 0

    def routes(self) -> list[BaseRoute]:
        """Return the routes under `/v1/calls`, and that of the Live API for recordings."""
        of_a_call: dict[str, tuple[Answer, str]] = {
            "": (self._show, "GET"),
            "/events": (self._follow, "GET"),
            "/recording": (self._recording, "GET"),
            "/peaks": (self._peaks, "GET"),
            "/export": (self._export, "GET"),
            "/replay": (self._replay, "POST"),
            "/scores": (self._scores, "GET"),
        }
        return [
            Route(PREFIX, self._answering(self._list), methods=["GET"]),
            Route(f"{PREFIX}/ticket", self._ticket, methods=["POST"]),
            Route(f"{LIVE_PATH}/{{call_id}}/content", self._answering(self._content), methods=["GET"]),
            *(
                Route(f"{PREFIX}/{{call_id}}{path}", self._answering(answer), methods=[method])
                for path, (answer, method) in of_a_call.items()
            ),
        ]

    def _answering(self, answer: Answer) -> Answer:
        async def answered(request: Request) -> Response:
            try:
                ticket = request.cookies.get(COOKIE, "")
                self._admission.admit_reader(request.headers, address_of(request), ticket)
                response = await answer(request)
            except NotAdmitted as refused:
                response = _error(refused.status, refused.code, str(refused))
            except NotFound as missing:
                response = _error(404, "not_found", str(missing))
            except BadQuery as mistake:
                status = 416 if "range" in request.headers else 400
                response = _error(status, "invalid_value", str(mistake))
            except CannotReplay as reason:
                response = _error(409, "cannot_replay", str(reason))
            except (StoreError, PlaceError, LogError) as error:
                log.warning("kept_call_unreadable", path=request.url.path, reason=str(error))
                response = _error(503, "unavailable", "what is kept cannot be read now; the log says why")
            response.headers.update(_HEADERS)
            return response

        return answered

    async def _ticket(self, request: Request) -> Response:
        """Set a cookie that stands for the key of the request."""
        try:
            ticket = self._admission.reader_ticket(request.headers, address_of(request))
        except NotAdmitted as refused:
            return _error(refused.status, refused.code, str(refused))
        response = Response(status_code=204, headers=_HEADERS)
        if ticket:
            forwarded = request.headers.get("x-forwarded-proto", "")
            secure = "https" in (request.url.scheme, forwarded)
            options: dict[str, Any] = {"httponly": True, "samesite": "strict", "secure": secure}
            response.set_cookie(COOKIE, ticket, max_age=TICKET_S, path=PREFIX, **options)
        return response

    async def _list(self, request: Request) -> Response:
        wanted, limit, behind = call_query(request.query_params)
        calls = await self._readers.run(self._store.found, wanted, limit, behind)
        after = cursor_text(Cursor(calls[-1].started_at, calls[-1].call_id)) if len(calls) == limit else None
        return JSONResponse({"calls": [shown(call) for call in calls], "next": after})

    async def _show(self, request: Request) -> Response:
        call = await self._found(request)
        return Response(await self._readers.run(document, call), media_type="application/json")

    async def _follow(self, request: Request) -> Response:
        call = await self._found(request)
        if self._followers >= MAX_FOLLOWERS:
            message = f"{MAX_FOLLOWERS} pages follow calls; try again when one has gone"
            return _error(503, "too_many_followers", message)
        return StreamingResponse(self._events(call), media_type="text/event-stream")

    async def _events(self, call: CallRow) -> AsyncIterator[bytes]:
        """Yield server-sent events (WHATWG HTML, 9.2). Sends a comment when nothing is new, which detects a
        dead connection.
        """
        follower = Follower(self._store, call)
        self._followers += 1
        try:
            while not follower.has_ended:
                changes = b""
                with suppress(LogError, PlaceError, StoreError):  # the files are being moved
                    changes = await self._readers.run(follower.more)
                yield b"event: changes\ndata: %b\n\n" % changes if changes else b": nothing new\n\n"
                if not changes:
                    await asyncio.sleep(FOLLOW_S)
            yield b"event: over\ndata: {}\n\n"
        finally:
            self._followers -= 1

    async def _recording(self, request: Request) -> Response:
        missing = "this call has no sound, or it was not kept (calls.record)"
        return await self._file(request, RECORDING_NAME, missing)

    async def _content(self, request: Request) -> Response:
        """Return the recording of a Live session; other calls' are under `/v1/calls`."""
        call_id = request.path_params["call_id"]
        if not call_id.startswith(LIVE_PREFIX):
            raise NotFound(f"no session {shorten(call_id)} is kept")
        return await self._recording(request)

    async def _peaks(self, request: Request) -> Response:
        return await self._file(request, PEAKS_NAME, "there is no picture of this call's sound")

    async def _file(self, request: Request, prefix: str, missing: str) -> Response:
        """Stream a file of the call, or the requested range of it."""
        call = await self._found(request)
        sizes = await self._readers.run(_sizes, call)
        name = next((name for name in sizes if name.startswith(prefix)), None)
        if name is None:
            raise NotFound(missing)
        size = sizes[name]
        part = byte_range(request.headers.get("range"), size)
        begin, end = part or (0, size)
        headers = {"accept-ranges": "bytes", "content-length": str(end - begin)}
        if part is not None:
            headers["content-range"] = f"bytes {begin}-{end - 1}/{size}"
        pieces = (
            read_at(call.place, name, at, min(end, at + PIECE_BYTES)) for at in range(begin, end, PIECE_BYTES)
        )
        body = self._readers.pieces(pieces)
        kind = _TYPES.get(name.removeprefix(prefix), _TYPES[""])
        return StreamingResponse(body, 200 if part is None else 206, headers, media_type=kind)

    async def _export(self, request: Request) -> Response:
        call = await self._found(request)
        await self._readers.run(sizes_at, call.place)  # raises before the response begins
        named = {"content-disposition": f'attachment; filename="{call.call_id}.zip"'}
        pieces = self._readers.pieces(export(self._store, call))
        return StreamingResponse(pieces, headers=named, media_type="application/zip")

    async def _replay(self, request: Request) -> Response:
        call = await self._found(request)
        async with self._replaying:  # one at a time, as it needs much CPU
            return JSONResponse(await self._readers.run(replayed, call))

    async def _scores(self, request: Request) -> Response:
        call = await self._found(request)
        async with self._scoring:  # one at a time too, but a replay never waits for it: it may take 30 s
            return JSONResponse(await self._readers.run(scored, call))

    async def _found(self, request: Request) -> CallRow:
        """Return the call of the request. Raises NotFound, StoreError."""
        call_id = request.path_params["call_id"]
        call = None
        if is_call_id(call_id):
            call = await self._readers.run(self._store.get, call_id)
        if call is None:
            raise NotFound(f"no call {json.dumps(call_id[:80])} is kept")
        return call


def _sizes(call: CallRow) -> dict[str, int]:
    """Return the bytes of a call's files by name; {} for a call without files yet. Raises PlaceError."""
    try:
        return sizes_at(call.place)
    except PlaceError:
        if call.state != "running":
            raise
        return {}


def _error(status: int, code: str, message: str) -> Response:
    return JSONResponse({"error": {"code": code, "message": message}}, status, _HEADERS)


MAX_SCORED_S = 1_800.0
"""Longest call whose recording is searched for voices; longer ones are scored by their log alone."""


def scored(call: CallRow) -> dict[str, Any]:
    """Return the scores of a call. Blocks for about a second per minute of its recording.

    Raises LogError, PlaceError.
    """
    logged = logged_speech(read_log_at(call.place), call.call_id)
    name = recording_of(names_at(call.place)) if logged.seconds <= MAX_SCORED_S else None
    recording = None if name is None else read_at(call.place, name)
    vad = SileroVad()
    try:
        if recording is not None:
            vad.load()
        speech = call_speech(logged, recording, vad, None, "en")  # only references need the language
    except (ValueError, VadError) as error:
        raise LogError(f"{call.call_id}: {error}") from error
    figures = [
        {"name": one.name, "source": one.source, "unit": one.unit, "value": one.value, "count": one.count}
        for one in scorecard([speech])
        if one.value is not None and math.isfinite(one.value)
    ]
    return {"scores": figures, "by_recording": recording is not None}
