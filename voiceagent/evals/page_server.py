"""`voiceagent eval --page`: serves the pages of evals, and the inspector for their calls, on this machine."""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from voiceagent.access.access_control import Admission
from voiceagent.calls.store import StoreError
from voiceagent.evals.history import History, PastEval, calls_folder, of_same_scenarios
from voiceagent.evals.kept_runs import KeptRuns
from voiceagent.evals.page import eval_page, list_page
from voiceagent.evals.page_parts import POLICY
from voiceagent.inspector.endpoint import Inspector
from voiceagent.server.page import Page
from voiceagent.validation.errors import CommandFailed

HOST = "127.0.0.1"
_HEADERS = {
    "content-security-policy": POLICY,
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
}


class EvalPages:
    """Pages of the evals in a folder. Raises StoreError, OSError."""

    def __init__(self, folder: Path) -> None:
        self._history = History(folder)
        self._reading = asyncio.Lock()
        self._kept = KeptRuns(calls_folder(folder))

    def app(self) -> Starlette:
        """Return the ASGI application."""
        page = Page()
        return Starlette(
            # other names may belong to a page elsewhere that rebinds its own to this machine
            middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=[HOST, "localhost"])],
            routes=[
                Route("/", lambda _: RedirectResponse("/evals")),
                Route("/evals", self._list),
                Route("/evals/{eval_id}", self._show),
                *Inspector(self._kept.store, Admission()).routes(),
                Route("/calls", page.calls),
                Route("/{path:path}", page, methods=["GET"]),
            ],
        )

    async def _list(self, _: Request) -> Response:
        return HTMLResponse(list_page(await self._evals()), headers=_HEADERS)

    async def _show(self, request: Request) -> Response:
        evals = await self._evals()
        wanted = request.path_params["eval_id"]
        one = next((one for one in evals if one.eval_id == wanted), None)
        if one is None:
            return PlainTextResponse("no such eval", 404, _HEADERS)
        series = of_same_scenarios(evals, one)
        index = series.index(one)
        calls = await asyncio.to_thread(self._kept.store.newest)
        page = eval_page(one, series[index - 1] if index else None, {call.call_id for call in calls})
        return HTMLResponse(page, headers=_HEADERS)

    async def _evals(self) -> list[PastEval]:
        async with self._reading:
            return await asyncio.to_thread(self._history.evals)


def serve_page(folder: Path, port: int) -> None:
    """Serve until interrupted. port: 0 for any. Raises CommandFailed."""
    try:
        pages = EvalPages(folder)
        connection = socket.create_server((HOST, port))
    except StoreError as error:
        raise CommandFailed(f"{calls_folder(folder)}: {error}") from error
    except (OSError, OverflowError) as error:
        message = f"cannot listen on port {port}: {error}; allowed: --page PORT with a free port"
        raise CommandFailed(message) from error
    print(f"http://{HOST}:{connection.getsockname()[1]}/evals (Ctrl-C ends)", flush=True)
    config = uvicorn.Config(pages.app(), log_level="warning", access_log=False, timeout_graceful_shutdown=1)
    with suppress(KeyboardInterrupt):  # uvicorn raises it again after its shutdown
        uvicorn.Server(config).run([connection])
