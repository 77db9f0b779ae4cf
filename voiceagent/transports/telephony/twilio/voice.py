"""`POST /telephony/twilio/voice`: what Twilio asks when a number is called, answered with TwiML."""

from __future__ import annotations

from urllib.parse import parse_qsl, urlsplit

import structlog
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from voiceagent.transports.telephony.public_url import websocket_url
from voiceagent.transports.telephony.twilio.api import connect_twiml
from voiceagent.transports.telephony.twilio.signature import HEADER, is_genuine
from voiceagent.transports.telephony.webhook import FormTooLong, read_form, requested_url

log = structlog.get_logger()


class TwilioVoice:
    """Answers the webhook of a number. token: None checks no signature. configured_url: see `public_url`."""

    def __init__(self, token: str | None, configured_url: str | None) -> None:
        self._token = token
        self._configured_url = configured_url

    async def answer(self, request: Request) -> Response:
        """The endpoint of a `Route`."""
        try:
            form = await read_form(request)
        except FormTooLong as error:
            return PlainTextResponse(str(error), 413)
        url = requested_url(request, self._configured_url)
        if self._token is not None and not is_genuine(self._token, url, form, request.headers.get(HEADER)):
            log.warning("webhook_refused", url=url)
            return PlainTextResponse(f"the request for {url} does not have Twilio's signature", 403)
        stream_url = websocket_url(urlsplit(url)._replace(query="").geturl().removesuffix("/voice"))
        parameters = {name.lower(): form[name][0] for name in ("From", "To") if name in form}
        parameters |= dict(parse_qsl(request.url.query))
        return Response(connect_twiml(stream_url, parameters), media_type="text/xml")
