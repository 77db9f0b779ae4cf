"""Routes of the configured telephony providers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from starlette.routing import BaseRoute

from voiceagent.access.config import LOOPBACK
from voiceagent.access.requester import AccessRules
from voiceagent.session.call import OpenCall
from voiceagent.transports.limits import USUAL_LIMITS, TransportLimits
from voiceagent.transports.telephony.config import TelephonyConfig
from voiceagent.transports.telephony.phone_call import LineOptions
from voiceagent.transports.telephony.provider import Placement
from voiceagent.transports.telephony.websocket import LINE_CALL, TelephonyEndpoint
from voiceagent.transports.websocket import websocket_routes
from voiceagent.validation.errors import config_error

_ANYBODY = AccessRules()
_HERE = Placement()


def telephony_routes(
    telephony: TelephonyConfig,
    host: str,
    open_call: OpenCall,
    environment: Mapping[str, str],
    source: Path,
    limits: TransportLimits = USUAL_LIMITS,
    rules: AccessRules = _ANYBODY,
    placement: Placement = _HERE,
) -> list[BaseRoute]:
    """Return the routes of all providers in `telephony`. Webhooks come first, because the streams' paths
    would match them.

       host: the address that the server listens on. source: the configuration file. limits: of each call.
    rules: for requests. placement: chooses the gateway and the agent of a call. Raise ConfigError.
    """
    _check_keys(telephony, host, source)
    streams: list[BaseRoute] = []
    webhooks: list[BaseRoute] = []
    for name, line in telephony.lines(environment, source, placement).items():
        # A provider without a key follows the rules of a server without keys: this machine only unless it is
        # open, and no pages of other sites.
        is_open = name in telephony.open
        line_rules = replace(rules, keyed=False, open=is_open, origins=rules.origins or frozenset())
        options = LineOptions(
            name,
            line.control,
            telephony.transfers,
            telephony.tools,
            limits.max_dtmf_digits,
            inband_keys=line.inband_keys,
            dialer=placement.dialer,
            connecting=placement.connecting,
        )
        urls = (telephony.public_url, *([] if placement.own_url is None else [placement.own_url]))
        endpoint = TelephonyEndpoint(open_call, line, options, urls, limits, line_rules, placement)
        if placement.dialer is not None:
            path = f"/telephony/{name}/outbound/{{call_id}}"
            streams += websocket_routes(path, endpoint.serve_outbound)
        for path in (f"/telephony/{name}", f"/telephony/{name}/{{agent}}"):
            if line.trusts is not None:
                streams += websocket_routes(f"{path}/calls/{{{LINE_CALL}}}", endpoint.serve)
            streams += websocket_routes(path, endpoint.serve, line.number_webhook)
        webhooks += line.webhooks
    return [*webhooks, *streams]


def _check_keys(telephony: TelephonyConfig, host: str, source: Path) -> None:
    """Raise ConfigError for a provider that others can reach without a key, at the owner's cost."""
    public = telephony.public_url is not None or host not in LOOPBACK
    for name, provider in telephony.providers().items():
        if public and provider.key_env is None and name not in telephony.open:
            where = f"at {telephony.public_url}" if telephony.public_url else f"on host {host}"
            message = f"others reach this line {where}: set {provider.key_name}, or name it in telephony.open"
            raise config_error(source, f"telephony.{name}", provider.model_dump(), message)
    socket = telephony.audiosocket
    if socket is not None and socket.host not in LOOPBACK and "audiosocket" not in telephony.open:
        message = (
            f"others reach this line on host {socket.host}, and it knows no keys: name it in telephony.open"
        )
        raise config_error(source, "telephony.audiosocket", socket.model_dump(), message)
