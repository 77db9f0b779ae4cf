"""Makes the carriers of the configured providers."""

from __future__ import annotations

from base64 import b64decode

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from voiceagent.transports.telephony.asterisk import AsteriskConfig
from voiceagent.transports.telephony.outbound.carrier import Carrier
from voiceagent.transports.telephony.outbound.carriers.asterisk import AsteriskCarrier
from voiceagent.transports.telephony.outbound.carriers.plivo import PlivoCarrier
from voiceagent.transports.telephony.outbound.carriers.telnyx import TelnyxCarrier
from voiceagent.transports.telephony.outbound.carriers.twilio import TwilioCarrier
from voiceagent.transports.telephony.outbound.carriers.vonage import VonageCarrier
from voiceagent.transports.telephony.plivo import PlivoConfig
from voiceagent.transports.telephony.provider import LineSettings, ProviderConfig
from voiceagent.transports.telephony.telnyx import TelnyxConfig
from voiceagent.transports.telephony.twilio import TwilioConfig
from voiceagent.transports.telephony.vonage import VonageConfig


def carrier_of(table: ProviderConfig, settings: LineSettings) -> Carrier | None:
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
