"""State shared with other gateways, if a Redis is configured."""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from voiceagent.access.client_secrets import ClientSecrets
from voiceagent.cluster.placing import GatewayReport, report, wanted
from voiceagent.config.tables import Config
from voiceagent.telemetry.metric_table import new_gauge
from voiceagent.telemetry.metrics import Metrics
from voiceagent.validation.errors import config_error

if TYPE_CHECKING:
    from voiceagent.cluster.shared_state import SharedState


def shared_state(config: Config, kept: ClientSecrets, metrics: Metrics) -> SharedState | None:
    """Return the shared state, or None without a Redis; it works only within `Routes.sharing`.

    kept: the client secrets that this process accepts. Raises ConfigError.
    """
    url = config.cluster.redis_url
    if url is None:
        return None
    try:
        from voiceagent.cluster.redis_link import RedisLink  # noqa: PLC0415  these bring the extra `cluster`
        from voiceagent.cluster.shared_state import SharedState  # noqa: PLC0415
    except ImportError as error:
        message = f"needs pip install 'voiceagent-server[cluster]': {error}"
        raise config_error(config.source, "cluster.redis_url", url, message) from error
    password = config.cluster.redis_password(os.environ, config.source)
    try:
        link = RedisLink(url, password, metrics.registry)
    except ValueError as error:  # not the address of a Redis
        raise config_error(config.source, "cluster.redis_url", url, str(error)) from error
    return SharedState(link, f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}", kept)


class Gateway:
    """This server as a gateway: its report, and the number of gateways wanted, in its metrics.

    load: returns the body of `GET /load`. shared: None for a single gateway.
    """

    def __init__(
        self, config: Config, load: Callable[[], dict[str, Any]], shared: SharedState | None, metrics: Metrics
    ) -> None:
        self._config, self._load, self._shared = config, load, shared
        self._url = config.cluster.gateway_url(os.environ, config.source) or ""
        reserve = config.cluster.reserve_calls
        for name, value in (
            ("gateways", lambda: len(self.reports())),
            ("gateways_wanted", lambda: wanted(self.reports(), reserve)),
            ("gateway_capacity", lambda: self.report().capacity),
        ):
            new_gauge(name, metrics.registry).set_function(value)

    def report(self) -> GatewayReport:
        """Return the report of this server."""
        name = "" if self._shared is None else self._shared.name
        return report(name, self._url, self._load(), self._config.server.max_loop_lag_s)

    def reports(self) -> tuple[GatewayReport, ...]:
        """Return the known reports of all gateways."""
        return (self._shared.reports if self._shared is not None else ()) or (self.report(),)
