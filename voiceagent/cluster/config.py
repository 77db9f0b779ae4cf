"""`[cluster]`: state shared by servers behind one load balancer."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from pydantic import Field

from voiceagent.validation.errors import config_error
from voiceagent.validation.section import Section


class ClusterConfig(Section):
    """`[cluster]`: state that several servers share in a Redis: client secrets, callers' limits and call
    locations. If Redis is lost, no call ends and each server uses its own state.
    """

    redis_url: str | None = Field(default=None, pattern=r"^(redis|rediss|unix)://")
    """Redis (not Redis Cluster) that the servers share, such as "redis://host:6379/0". Left out, the server
    is alone.
    """
    redis_password_env: str | None = None
    """Environment variable that holds its password."""

    gateway_url_env: str | None = None
    """Environment variable that holds the URL at which phone providers reach this server alone, such as
    "https://one.agent.example". Calls are then forwarded to the least loaded server. Left out, a call stays
    where the load balancer sent it.
    """
    reserve_calls: int = Field(default=10, ge=0)
    """Free call slots that the cluster keeps in reserve. The metric `voiceagent_gateways_wanted` includes
    them.
    """

    def redis_password(self, environment: Mapping[str, str], source: Path) -> str | None:
        """Return the password. Raises ConfigError."""
        name = self.redis_password_env
        if name is None:
            return None
        password = environment.get(name, "")
        if not password:
            message = "this environment variable is empty or not set; allowed: one that holds the password"
            raise config_error(source, "cluster.redis_password_env", name, message)
        return password

    def gateway_url(self, environment: Mapping[str, str], source: Path) -> str | None:
        """Return the URL of this gateway. Raises ConfigError."""
        name = self.gateway_url_env
        if name is None:
            return None
        url = environment.get(name, "").rstrip("/")
        if not re.fullmatch(r"https?://[^/\s?#]+", url):
            message = f"holds {url!r}; allowed: a URL without a path, as https://one.agent.example"
            raise config_error(source, "cluster.gateway_url_env", name, message)
        return url
