"""The lines of a configuration, as routes of the server."""

from __future__ import annotations

from starlette.routing import BaseRoute, Route, WebSocketRoute

from voiceagent.access.config import LOOPBACK
from voiceagent.config.tables import Config
from voiceagent.session.call import OpenCall
from voiceagent.transports.telephony.plivo.transfer import PlivoTransfer
from voiceagent.transports.telephony.providers import Environment, read_key, websocket_lines
from voiceagent.transports.telephony.twilio.voice import TwilioVoice
from voiceagent.transports.telephony.websocket import TelephonyEndpoint
from voiceagent.validation.errors import problem


def telephony_routes(config: Config, environment: Environment, open_call: OpenCall) -> list[BaseRoute]:
    """The routes of all providers that the configuration names. Raises ConfigError."""
    _refuse_strangers(config)
    return [
        *(
            WebSocketRoute(f"/telephony/{name}", TelephonyEndpoint(open_call, line).serve)
            for name, line in websocket_lines(config, environment).items()
        ),
        *_webhooks(config, environment),
    ]


def _webhooks(config: Config, environment: Environment) -> list[BaseRoute]:
    telephony = config.telephony
    routes: list[BaseRoute] = []
    if telephony.twilio is not None:
        token = read_key(config, "twilio.auth_token_env", telephony.twilio.auth_token_env, environment)
        voice = TwilioVoice(token, telephony.public_url)
        routes.append(Route("/telephony/twilio/voice", voice.answer, methods=["POST"]))
    if telephony.plivo is not None:
        token = read_key(config, "plivo.auth_token_env", telephony.plivo.auth_token_env, environment)
        if token is not None:
            transfer = PlivoTransfer(token, telephony.public_url, telephony.transfers.values())
            routes.append(Route("/telephony/plivo/transfer", transfer.answer, methods=["POST"]))
    return routes


def _refuse_strangers(config: Config) -> None:
    """A line without a key would let everyone call at its owner's cost. Raises ConfigError."""
    telephony, host = config.telephony, config.server.host
    public = telephony.public_url is not None or host not in LOOPBACK
    for name, provider in telephony.providers().items():
        if public and provider.key_env is None and not provider.open:
            where = f"at {telephony.public_url}" if telephony.public_url else f"on host {host}"
            message = f"others reach this line {where}: set {provider.key_name}, or open = true"
            raise problem(config.source, f"telephony.{name}", provider.model_dump(), message)
    socket = telephony.audiosocket
    if socket is not None and socket.host not in LOOPBACK and not socket.open:
        message = f"others reach this line on host {socket.host}, and it knows no keys: set open = true"
        raise problem(config.source, "telephony.audiosocket", socket.model_dump(), message)
