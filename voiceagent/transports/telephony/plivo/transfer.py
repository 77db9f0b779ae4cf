"""`POST /telephony/plivo/transfer`: what Plivo asks when a caller is handed on, answered with XML."""

from __future__ import annotations

from collections.abc import Collection

import structlog
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from voiceagent.transports.telephony.plivo.api import dial_xml
from voiceagent.transports.telephony.plivo.signature import is_genuine
from voiceagent.transports.telephony.webhook import FormTooLong, read_form, requested_url

log = structlog.get_logger()


class PlivoTransfer:
    """Answers with whom to dial. numbers: those that callers may be connected to, and no others."""

    def __init__(self, token: str, configured_url: str | None, numbers: Collection[str]) -> None:
        self._token = token
        self._configured_url = configured_url
        self._numbers = numbers

    async def answer(self, request: Request) -> Response:
        """The endpoint of a `Route`."""
        try:
            form = await read_form(request)
        except FormTooLong as error:
            return PlainTextResponse(str(error), 413)
        url = requested_url(request, self._configured_url)
        if not is_genuine(self._token, url, form, request.headers):
            log.warning("webhook_refused", url=url)
            return PlainTextResponse(f"the request for {url} does not have Plivo's signature", 403)
        number = request.query_params.get("to", "")
        if number not in self._numbers:
            return PlainTextResponse(f"to is {number!r}; allowed: the numbers of telephony.transfers", 400)
        return Response(dial_xml(number), media_type="text/xml")
