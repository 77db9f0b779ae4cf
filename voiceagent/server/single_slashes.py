"""Paths with two slashes where one belongs: clients join a base URL that ends in a slash and a path."""

from __future__ import annotations

import re

from starlette.types import ASGIApp, Receive, Scope, Send

_API = "/v1/"


class SingleSlashes:
    """Middleware: paths of the API mean the same with several slashes as with one.

    Other paths stay as they are: phone providers sign the URL that they ask for.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request or a WebSocket."""
        path = scope.get("path", "")
        if "//" in path:
            single = re.sub("/+", "/", path)
            if single.removeprefix(scope.get("root_path", "")).startswith(_API):
                scope = {**scope, "path": single, "raw_path": single.encode()}
        await self._app(scope, receive, send)
