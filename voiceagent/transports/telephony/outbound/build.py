"""Makes the dialer of a configuration, with a carrier for each provider that places calls."""

from __future__ import annotations

import os
from base64 import b64decode
from collections.abc import Callable, Mapping
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from voiceagent.transports.telephony.asterisk import AsteriskConfig
from voiceagent.transports.telephony.config import TelephonyConfig
from voiceagent.transports.telephony.outbound.carriers.asterisk import AsteriskCarrier
from voiceagent.transports.telephony.outbound.carriers.carrier import Carrier
from voiceagent.transports.telephony.outbound.carriers.plivo import PlivoCarrier
from voiceagent.transports.telephony.outbound.carriers.telnyx import TelnyxCarrier
from voiceagent.transports.telephony.outbound.carriers.twilio import TwilioCarrier
from voiceagent.transports.telephony.outbound.carriers.vonage import VonageCarrier
from voiceagent.transports.telephony.outbound.config import OutboundConfig
from voiceagent.transports.telephony.outbound.dialer import Dialer, DialRules
from voiceagent.transports.telephony.outbound.policies.progress import OutboundCall
from voiceagent.transports.telephony.outbound.store import OutboundStore
from voiceagent.transports.telephony.plivo import PlivoConfig
from voiceagent.transports.telephony.provider import LineSettings, ProviderConfig
from voiceagent.transports.telephony.telnyx import TelnyxConfig
from voiceagent.transports.telephony.twilio import TwilioConfig
from voiceagent.transports.telephony.vonage import VonageConfig
from voiceagent.validation.errors import config_error


def dialer_of(
    telephony: TelephonyConfig,
    outbound: OutboundConfig,
    environment: Mapping[str, str],
    source: Path,
    own_url: str | None,
    rules: DialRules,
    publish: Callable[[OutboundCall], None],
) -> Dialer | None:
    """Return the dialer, None if `[outbound]` allows no calls. Raise ConfigError.

    own_url: URL of this gateway of a cluster. publish: called with each call whose status has changed.
    """
    if not outbound.allow:
        return None
    if not outbound.numbers:
        message = 'missing; allowed: a number by provider, such as { twilio = "+15550100000" }'
        raise config_error(source, "outbound.numbers", outbound.numbers, message)
    url = own_url or telephony.public_url
    if url is None:
        message = "missing; it must be set for outbound calls: providers report there and connect the audio"
        raise config_error(source, "telephony.public_url", None, message)
    path = outbound.path(source)
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        message = f"{path} cannot be written; allowed: a file in a folder that the server may write"
        raise config_error(source, "outbound.file", outbound.file, message)
    carriers = {name: _carrier(telephony, name, environment, source) for name in outbound.numbers}
    return Dialer(outbound, carriers, OutboundStore(path), url, rules, publish)


def _carrier(telephony: TelephonyConfig, name: str, environment: Mapping[str, str], source: Path) -> Carrier:
    """Return the carrier of a provider that `outbound.numbers` names. Raise ConfigError."""
    table = telephony.providers().get(name)
    settings = LineSettings(name, telephony.public_url, telephony.transfers, environment, source)
    carrier = None if table is None else _carrier_of(table, settings)
    if carrier is None:
        allowed = ", ".join(telephony.providers()) or "none, as no provider has one"
        message = f"places no calls, or has no table [telephony.{name}]; allowed: {allowed}"
        raise config_error(source, f"outbound.numbers.{name}", name, message)
    return carrier


def _carrier_of(table: ProviderConfig, settings: LineSettings) -> Carrier | None:
    """Return the carrier of a provider's table; None if the provider places no calls. Raise ConfigError if a
    setting for outbound calls is missing.
    """
    match table:
        case TwilioConfig():
            sid = _needed(settings, "account_sid", table.account_sid)
            return TwilioCarrier(table.api_url, sid, _key(settings, "auth_token_env", table.auth_token_env))
        case TelnyxConfig():
            return _telnyx(table, settings)
        case PlivoConfig():
            auth_id = _needed(settings, "auth_id", table.auth_id)
            return PlivoCarrier(
                table.api_url, auth_id, _key(settings, "auth_token_env", table.auth_token_env)
            )
        case VonageConfig():
            application_id = _needed(settings, "application_id", table.application_id)
            secret = _key(settings, "signature_secret_env", table.signature_secret_env)
            pem = _key(settings, "private_key_env", table.private_key_env)
            return VonageCarrier(table.api_url, application_id, table.private_key(pem, settings), secret)
        case AsteriskConfig():
            url = _needed(settings, "ari_url", table.ari_url)
            ari_password = _key(settings, "ari_password_env", table.ari_password_env)
            password = _key(settings, "password_env", table.password_env)
            return AsteriskCarrier(url, table.ari_user, ari_password, password)
    return None


def _telnyx(table: TelnyxConfig, settings: LineSettings) -> TelnyxCarrier:
    given = _needed(settings, "public_key", table.public_key)
    try:
        public_key = Ed25519PublicKey.from_public_bytes(b64decode(given, validate=True))
    except ValueError as error:
        message = "is no key; allowed: 32 bytes in base64, as Telnyx shows it"
        raise settings.config_error("public_key", given, message) from error
    return TelnyxCarrier(
        table.api_url,
        _key(settings, "api_key_env", table.api_key_env),
        _key(settings, "stream_token_env", table.stream_token_env),
        _needed(settings, "connection_id", table.connection_id),
        public_key,
    )


def _needed(settings: LineSettings, setting: str, value: str) -> str:
    if not value:
        message = f"missing; it must be set for calls with outbound.numbers.{settings.provider}"
        raise settings.config_error(setting, value, message)
    return value


def _key(settings: LineSettings, setting: str, variable: str | None) -> str:
    return _needed(settings, setting, settings.key(setting, variable) or "")
