"""The lines of a configuration: of each provider its serializer, its keys and its REST API."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from voiceagent.config.tables import Config
from voiceagent.transports.telephony.asterisk.serializer import AsteriskSerializer
from voiceagent.transports.telephony.control import CallControl
from voiceagent.transports.telephony.password import has_password, is_secret
from voiceagent.transports.telephony.phone_call import LineOptions
from voiceagent.transports.telephony.plivo.api import PlivoControl
from voiceagent.transports.telephony.plivo.serializer import PlivoSerializer
from voiceagent.transports.telephony.plivo.signature import is_genuine as is_plivo
from voiceagent.transports.telephony.serializer import Serializer, Started
from voiceagent.transports.telephony.telnyx.api import TOKEN_HEADER, TelnyxControl
from voiceagent.transports.telephony.telnyx.serializer import TelnyxSerializer
from voiceagent.transports.telephony.twilio.api import TwilioControl
from voiceagent.transports.telephony.twilio.serializer import TwilioSerializer
from voiceagent.transports.telephony.twilio.signature import HEADER
from voiceagent.transports.telephony.twilio.signature import is_genuine as is_twilio
from voiceagent.transports.telephony.vonage.api import VonageControl
from voiceagent.transports.telephony.vonage.api import is_genuine as is_vonage
from voiceagent.transports.telephony.vonage.serializer import VonageSerializer
from voiceagent.transports.telephony.websocket import Trust, WebSocketLine
from voiceagent.validation.errors import problem

Environment = Mapping[str, str]
Control = Callable[[Started], CallControl | None]


def websocket_lines(config: Config, environment: Environment) -> dict[str, WebSocketLine]:
    """The lines over WebSocket that the configuration names, by provider. Raises ConfigError."""
    makers: dict[str, Callable[[Config, Environment], WebSocketLine]] = {
        "twilio": _twilio,
        "telnyx": _telnyx,
        "plivo": _plivo,
        "vonage": _vonage,
        "asterisk": _asterisk,
    }
    served = config.telephony.providers()
    return {name: make(config, environment) for name, make in makers.items() if name in served}


def read_key(config: Config, place: str, name: str | None, environment: Environment) -> str | None:
    """The key in the environment variable `name`, which the configuration has at `telephony.<place>`.

    None where it names none. Raises ConfigError.
    """
    if name is None:
        return None
    key = environment.get(name, "").strip()
    if not key:
        message = "holds nothing; allowed: the name of an environment variable with the key"
        raise problem(config.source, f"telephony.{place}", name, message)
    return key


def line_options(config: Config, provider: str, control: Control = lambda started: None) -> LineOptions:
    """What the calls of a provider share. control: see `LineOptions`."""
    return LineOptions(provider, control, config.telephony.transfers, config.telephony.tools)


def _line(
    config: Config, new_serializer: Callable[[], Serializer], options: LineOptions, trusts: Trust | None
) -> WebSocketLine:
    return WebSocketLine(new_serializer, options, trusts, config.telephony.public_url)


def _twilio(config: Config, environment: Environment) -> WebSocketLine:
    twilio = config.telephony.twilio
    assert twilio is not None
    token = read_key(config, "twilio.auth_token_env", twilio.auth_token_env, environment)
    if token is None:
        return _line(config, TwilioSerializer, line_options(config, "twilio"), None)

    def control(started: Started) -> CallControl:
        return TwilioControl(twilio.api_url, token, started)

    def trusts(url: str, headers: Mapping[str, str]) -> bool:
        return is_twilio(token, url, {}, headers.get(HEADER))

    return _line(config, TwilioSerializer, line_options(config, "twilio", control), trusts)


def _telnyx(config: Config, environment: Environment) -> WebSocketLine:
    telnyx = config.telephony.telnyx
    assert telnyx is not None
    token = read_key(config, "telnyx.stream_token_env", telnyx.stream_token_env, environment)
    key = read_key(config, "telnyx.api_key_env", telnyx.api_key_env, environment)

    def control(started: Started) -> CallControl | None:
        return None if key is None else TelnyxControl(telnyx.api_url, key, started.call_id)

    def trusts(url: str, headers: Mapping[str, str]) -> bool:
        return token is not None and is_secret(token, headers.get(TOKEN_HEADER))

    options = line_options(config, "telnyx", control)
    return _line(config, TelnyxSerializer, options, None if token is None else trusts)


def _plivo(config: Config, environment: Environment) -> WebSocketLine:
    plivo, public_url = config.telephony.plivo, config.telephony.public_url
    assert plivo is not None
    token = read_key(config, "plivo.auth_token_env", plivo.auth_token_env, environment)
    if token is None:
        return _line(config, PlivoSerializer, line_options(config, "plivo"), None)

    def control(started: Started) -> CallControl:
        return PlivoControl(plivo.api_url, token, public_url, started)

    def trusts(url: str, headers: Mapping[str, str]) -> bool:
        # Plivo does not say which scheme of a stream's URL it signs.
        return any([is_plivo(token, one, {}, headers) for one in (url, "http" + url.removeprefix("ws"))])

    return _line(config, PlivoSerializer, line_options(config, "plivo", control), trusts)


def _vonage(config: Config, environment: Environment) -> WebSocketLine:
    vonage = config.telephony.vonage
    assert vonage is not None
    secret = read_key(config, "vonage.signature_secret_env", vonage.signature_secret_env, environment)
    pem = read_key(config, "vonage.private_key_env", vonage.private_key_env, environment)
    key = None if pem is None else _private_key(config, pem)

    def control(started: Started) -> CallControl | None:
        if key is None or not started.call_id:
            return None
        return VonageControl(vonage.api_url, vonage.application_id, key, started.call_id)

    def trusts(url: str, headers: Mapping[str, str]) -> bool:
        return secret is not None and is_vonage(secret, headers, time.time())

    options = line_options(config, "vonage", control)
    return _line(config, VonageSerializer, options, None if secret is None else trusts)


def _private_key(config: Config, pem: str) -> RSAPrivateKey:
    assert config.telephony.vonage is not None
    name = config.telephony.vonage.private_key_env
    try:
        key = load_pem_private_key(pem.encode(), None)
    except (ValueError, TypeError) as error:
        message = "holds no private key; allowed: PEM without a passphrase"
        raise problem(config.source, "telephony.vonage.private_key_env", name, message) from error
    if not isinstance(key, RSAPrivateKey):
        message = "holds a key of another kind; allowed: RSA"
        raise problem(config.source, "telephony.vonage.private_key_env", name, message)
    return key


def _asterisk(config: Config, environment: Environment) -> WebSocketLine:
    asterisk = config.telephony.asterisk
    assert asterisk is not None
    password = read_key(config, "asterisk.password_env", asterisk.password_env, environment)

    def trusts(url: str, headers: Mapping[str, str]) -> bool:
        return password is not None and has_password(password, headers)

    options = line_options(config, "asterisk")
    return _line(config, AsteriskSerializer, options, None if password is None else trusts)
