"""Makes the dialer of a configuration."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from voiceagent.transports.telephony.config import TelephonyConfig
from voiceagent.transports.telephony.outbound.carrier import Carrier
from voiceagent.transports.telephony.outbound.carriers.build import carrier_of
from voiceagent.transports.telephony.outbound.config import OutboundConfig
from voiceagent.transports.telephony.outbound.dialer import Dialer, DialRules
from voiceagent.transports.telephony.outbound.policies.progress import OutboundCall
from voiceagent.transports.telephony.outbound.store import OutboundStore
from voiceagent.transports.telephony.provider import LineSettings
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
    carrier = None if table is None else carrier_of(table, settings)
    if carrier is None:
        message = (
            "no provider that places calls; allowed: twilio, telnyx, plivo, vonage, asterisk, "
            f"with [telephony.{name}]"
        )
        raise config_error(source, f"outbound.numbers.{name}", name, message)
    return carrier
