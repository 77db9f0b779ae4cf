"""What providers' webhooks have in common: a form, and the public URL that was signed."""

from __future__ import annotations

from urllib.parse import parse_qs

from starlette.requests import HTTPConnection, Request

from voiceagent.transports.telephony.public_url import public_url

MAX_FORM = 65_536


class FormTooLong(Exception):
    """More was sent than any form has."""

    def __init__(self) -> None:
        super().__init__(f"the form is longer than {MAX_FORM} bytes")


async def read_form(request: Request) -> dict[str, list[str]]:
    """The values of each name of a form. Raises FormTooLong."""
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > MAX_FORM:
            raise FormTooLong
    return parse_qs(body.decode("utf-8", "replace"), keep_blank_values=True)


def requested_url(request: HTTPConnection, configured_url: str | None) -> str:
    """The public URL of a request or handshake, with https or http: see `public_url`."""
    path = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    return public_url(path, request.headers, request.url.scheme in ("https", "wss"), configured_url)
