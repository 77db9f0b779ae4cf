"""`[cluster]`: state shared by servers behind one load balancer."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from pydantic import Field

from voiceagent.validation.errors import problem
from voiceagent.validation.section import Section


class ClusterConfig(Section):
    """`[cluster]`: for a server that is one of several gateways.

    They share client secrets, limits of callers and the locations of calls in Redis. Losing Redis ends no
    call: until it is back each gateway knows only its own callers.
    """

    redis_url: str | None = Field(default=None, pattern=r"^(redis|rediss|unix)://")
    """The Redis, a single one and not a Redis Cluster (redis://host:6379/0); left out, the server
    is alone.
    """
    redis_password_env: str | None = None
    """Environment variable with its password; left out, none is used."""

    gateway_url_env: str | None = None
    """Environment variable with the URL at which phone providers reach this gateway alone
    ("https://one.agent.example"), so that calls can be redirected between gateways; left out, a call stays
    where the load balancer sent it.
    """
    reserve_calls: int = Field(default=10, ge=0)
    """Spare capacity, in calls, that `voiceagent_gateways_wanted` includes."""

    def redis_password(self, environment: Mapping[str, str], source: Path) -> str | None:
        """Return the password. Raises ConfigError."""
        name = self.redis_password_env
        if name is None:
            return None
        password = environment.get(name, "")
        if not password:
            message = "holds no password; allowed: an environment variable that is set"
            raise problem(source, "cluster.redis_password_env", name, message)
        return password

    def gateway_url(self, environment: Mapping[str, str], source: Path) -> str | None:
        """Return the URL of this gateway. Raises ConfigError."""
        name = self.gateway_url_env
        if name is None:
            return None
        url = environment.get(name, "").rstrip("/")
        if not re.fullmatch(r"https?://[^/\s?#]+", url):
            message = f"holds {url!r}; allowed: a URL without a path, as https://one.agent.example"
            raise problem(source, "cluster.gateway_url_env", name, message)
        return url
