"""Recording of calls, if configured. The extra `calls` is imported only then."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from voiceagent.access.access_control import Admission
from voiceagent.config.tables import Config
from voiceagent.telemetry.metrics import Metrics
from voiceagent.transports.live.sessions import Stored
from voiceagent.transports.live.webrtc import PATH as LIVE_PATH
from voiceagent.transports.realtime.protocol.errors import RequestError
from voiceagent.transports.realtime.sidebands.messages import LIVE_PREFIX
from voiceagent.validation.errors import ConfigError, config_error, shorten

if TYPE_CHECKING:
    from voiceagent.calls.kept_calls import KeptCalls


def kept_calls(config: Config, metrics: Metrics) -> KeptCalls | None:
    """Return the recorder of calls, or None if not configured; it works only within `recording_calls`. Raises
    ConfigError.
    """
    if not config.calls.folder:
        return None
    try:
        from voiceagent.calls.kept_calls import KeptCalls  # noqa: PLC0415  these bring the extra `calls`
        from voiceagent.calls.places import PlaceError  # noqa: PLC0415
        from voiceagent.calls.store import StoreError  # noqa: PLC0415
    except ImportError as error:
        message = f"needs pip install 'voiceagent-server[calls]': {error}"
        raise config_error(config.source, "calls.folder", config.calls.folder, message) from error
    try:
        return KeptCalls(config.calls, config.calls_folder, metrics.registry)
    except (StoreError, PlaceError) as error:
        raise ConfigError(f"{config.source}: [calls]: {error}") from error


def calls_routes(kept: KeptCalls | None, admission: Admission) -> list[BaseRoute]:
    """Return the inspector's routes, or a route that says that calls are not recorded."""
    if kept is None:
        paths = ("/v1/calls{path:path}", f"{LIVE_PATH}/{{session_id}}/content")
        return [Route(path, _not_kept) for path in paths]
    from voiceagent.inspector.endpoint import Inspector  # noqa: PLC0415  as above

    return Inspector(kept.store, admission).routes()


async def _not_kept(_: Request) -> Response:
    error = {"code": "not_kept", "message": "this server keeps no calls (calls.folder)"}
    return JSONResponse({"error": error}, 404)


async def find_session(kept: KeptCalls | None, session_id: str) -> Stored:
    """Return a stored Live session at its end. Raise RequestError."""
    if kept is None:
        raise RequestError("not_kept", "this server keeps no calls (calls.folder)")
    from voiceagent.calls.continuing import CannotContinue, continued, find_ended  # noqa: PLC0415  as above

    try:
        call = await asyncio.to_thread(find_ended, kept.store, session_id)
    except CannotContinue as reason:
        raise RequestError("unavailable", str(reason)) from reason
    if call is None or not session_id.startswith(LIVE_PREFIX):
        raise RequestError("session_not_found", f"no ended session {shorten(session_id)} is kept")
    try:
        end = await asyncio.to_thread(continued, call)
    except CannotContinue as reason:
        raise RequestError("cannot_fork", str(reason)) from reason
    return Stored(end.settings, end.items)


@asynccontextmanager
async def recording_calls(kept: KeptCalls | None) -> AsyncIterator[None]:
    """Record calls for the length of the block; at its end everything is written."""
    if kept is None:
        yield
        return
    kept.start()
    try:
        yield
    finally:
        await asyncio.to_thread(kept.close)
