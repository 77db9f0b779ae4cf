"""The pages: the files of `web/`, served as they are."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.staticfiles import StaticFiles

from voiceagent.config import places

_HEADERS = {
    "Cache-Control": "no-cache",  # asked for again each time, and answered by 304 while nothing changed
    # nobody else's page shows it in a frame, where a press is meant for something else
    "Content-Security-Policy": "default-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'self'",
    "Permissions-Policy": "microphone=(self)",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class Page(StaticFiles):
    """Serves the page under every path that nothing else has: the endpoint of a last `Route`."""

    def __init__(self) -> None:
        repository, wheel = places("web")
        directory = repository if (repository / "index.html").is_file() else wheel
        super().__init__(directory=directory, html=True, check_dir=False)

    async def calls(self, request: Request) -> Response:
        """The inspector of kept calls, at `/calls`."""
        return await self.get_response("calls.html", request.scope)

    def file_response(self, *args: Any, **kwargs: Any) -> Response:
        """A file, under a policy by which nothing but this server's own files runs in the page."""
        response = super().file_response(*args, **kwargs)
        response.headers.update(_HEADERS)
        return response
