"""Web pages: the files of `web/`."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.staticfiles import StaticFiles

from voiceagent.config import places

_HEADERS = {
    "Cache-Control": "no-cache",  # revalidated each time; answered by 304 while unchanged
    # other sites must not frame the page (clickjacking)
    "Content-Security-Policy": "default-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'self'",
    "Permissions-Policy": "microphone=(self)",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class Page(StaticFiles):
    """Serves the page under every path without another route: the endpoint of the last `Route`."""

    def __init__(self) -> None:
        repository, wheel = places("web")
        directory = repository if (repository / "index.html").is_file() else wheel
        super().__init__(directory=directory, html=True, check_dir=False)

    async def calls(self, request: Request) -> Response:
        """Return the inspector of kept calls, at `/calls`."""
        return await self.get_response("calls.html", request.scope)

    def file_response(self, *args: Any, **kwargs: Any) -> Response:
        """Return a file with a policy that allows only this server's files to run."""
        response = super().file_response(*args, **kwargs)
        response.headers.update(_HEADERS)
        return response
