"""The lines of a configuration, as routes of the server."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from starlette.routing import BaseRoute, Route, WebSocketRoute

from voiceagent.call import OpenCall
from voiceagent.config import LOOPBACK, Config
from voiceagent.telephony.config import TwilioConfig
from voiceagent.telephony.line import Started
from voiceagent.telephony.phone_call import LineOptions
from voiceagent.telephony.twilio import TwilioCodec
from voiceagent.telephony.twilio_api import TwilioControl
from voiceagent.telephony.twilio_signature import HEADER, is_genuine
from voiceagent.telephony.twilio_voice import TwilioVoice
from voiceagent.telephony.websocket import TelephonyEndpoint, WebSocketLine
from voiceagent.validation import problem


def telephony_routes(config: Config, environment: Mapping[str, str], open_call: OpenCall) -> list[BaseRoute]:
    """The routes of all providers that the configuration names. Raises ConfigError."""
    _refuse_strangers(config)
    telephony = config.telephony
    routes: list[BaseRoute] = []
    if telephony.twilio is not None:
        token = _key(config, "twilio.auth_token_env", telephony.twilio.auth_token_env, environment)
        line = _twilio(config, telephony.twilio, token)
        voice = TwilioVoice(token, telephony.public_url)
        routes += [
            WebSocketRoute("/telephony/twilio", TelephonyEndpoint(open_call, line).serve),
            Route("/telephony/twilio/voice", voice.answer, methods=["POST"]),
        ]
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


def _twilio(config: Config, twilio: TwilioConfig, token: str | None) -> WebSocketLine:
    def control(started: Started) -> TwilioControl | None:
        return TwilioControl(twilio.api_url, token, started) if token is not None else None

    def trusts(token: str, url: str, headers: Mapping[str, str]) -> bool:
        return is_genuine(token, url, {}, headers.get(HEADER))

    telephony = config.telephony
    options = LineOptions("twilio", control, telephony.transfers, telephony.tools)
    return WebSocketLine(
        TwilioCodec, options, None if token is None else partial(trusts, token), telephony.public_url
    )


def _key(config: Config, place: str, name: str | None, environment: Mapping[str, str]) -> str | None:
    """The key in the environment variable `name`; None where the configuration names none."""
    if name is None:
        return None
    key = environment.get(name, "").strip()
    if not key:
        message = "holds nothing; allowed: the name of an environment variable with the key"
        raise problem(config.source, f"telephony.{place}", name, message)
    return key
