"""Webhooks of the providers: a form, the public URL, and a signature of both."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import parse_qs

import structlog
from starlette.requests import ClientDisconnect, HTTPConnection, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from voiceagent.session.call import CallRefused
from voiceagent.transports.telephony.provider import any_agent
from voiceagent.transports.telephony.stream.public_url import public_url

log = structlog.get_logger()

MAX_FORM = 65_536
"""Maximum length in bytes; no provider's form is longer."""

Form = dict[str, list[str]]
"""Values of each form field."""


@dataclass(frozen=True, slots=True)
class Webhook:
    """A URL that a provider posts a form to.

       provider: its display name. public_url: of the server, if configured. is_genuine: returns True if the
    headers (names in lower case) sign the URL and the form; None accepts unsigned requests. answer: makes the
    response from URL, form and headers; may raise CallRefused. check_agent: raises CallRefused if no agent
    has the name in the URL.
    """

    provider: str
    public_url: str | None
    is_genuine: Callable[[str, Form, Mapping[str, str]], bool] | None
    answer: Callable[[str, Form, Mapping[str, str]], Response]
    check_agent: Callable[[str], None] = any_agent

    def route(self, path: str) -> Route:
        return Route(path, self._serve, methods=["GET", "POST"])

    async def _serve(self, request: Request) -> Response:
        if request.method != "POST":  # a GET has its fields in the URL, and another signature
            return PlainTextResponse(
                f"{self.provider} asks by {request.method}; allowed: POST", 405, {"allow": "POST"}
            )
        try:
            form = await _read_form(request)
        except ClientDisconnect:
            return PlainTextResponse("the form broke off", 400)  # nobody receives this
        if form is None:
            return PlainTextResponse(f"the form is longer than {MAX_FORM} bytes", 413)
        url = requested_url(request, self.public_url)
        if self.is_genuine is not None and not self.is_genuine(url, form, request.headers):
            log.warning("webhook_refused", url=url)
            return PlainTextResponse(f"the request for {url} does not have {self.provider}'s signature", 403)
        try:
            if "agent" in request.path_params:
                self.check_agent(request.path_params["agent"])
            return self.answer(url, form, request.headers)
        except CallRefused as refused:
            log.warning("call_refused", provider=self.provider.lower(), reason=str(refused))
            return PlainTextResponse(str(refused), refused.status, refused.headers)


def requested_url(request: HTTPConnection, configured_url: str | None) -> str:
    """Return the public URL (https or http) of a request or handshake: see `public_url`."""
    path = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    return public_url(path, request.headers, request.url.scheme in ("https", "wss"), configured_url)


async def _read_form(request: Request) -> Form | None:
    """Return the form, None if it is too long."""
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > MAX_FORM:
            return None
    return parse_qs(body.decode("utf-8", "replace"), keep_blank_values=True)
