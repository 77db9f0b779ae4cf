"""`[webhooks]`: events of calls, posted to a URL.

Class variables are not keys of the file: an event outlasts a receiver that is away for two minutes.
"""

from __future__ import annotations

import binascii
from base64 import b64decode
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from voiceagent.validation.errors import config_error
from voiceagent.validation.section import Section

PREFIX = "whsec_"
MIN_SECRET_BYTES = 24
"""Minimum of Standard Webhooks."""


class WebhooksConfig(Section):
    """`[webhooks]`: signed events (Standard Webhooks) when a call begins and ends."""

    url: str | None = Field(default=None, pattern=r"^https?://[^/\s?#]+[^\s#]*$")
    """URL to which events are posted. Left out, none are sent."""
    secret_env: str | None = None
    """Environment variable that holds the signing secret: "whsec_" and at least 24 bytes in base64."""
    timeout_s: ClassVar[float] = 10.0
    """Longest wait for a response."""
    attempts: ClassVar[int] = 8
    """Attempts per event. The wait between them starts at one second and doubles."""
    max_waiting: ClassVar[int] = 1_000
    """Queued events. One more is dropped, logged and counted."""

    @model_validator(mode="after")
    def _signed(self) -> Self:
        if self.url is not None and self.secret_env is None:
            raise PydanticCustomError("unsigned", "url is set: set secret_env too, events are signed")
        return self

    def secret(self, environment: Mapping[str, str], source: Path) -> bytes:
        """Return the signing secret. Raises ConfigError."""
        assert self.secret_env is not None
        text = environment.get(self.secret_env, "").strip().removeprefix(PREFIX)
        try:
            secret = b64decode(text, validate=True)
        except binascii.Error:
            secret = b""
        if len(secret) < MIN_SECRET_BYTES:
            allowed = f"a variable with {PREFIX} and {MIN_SECRET_BYTES} bytes or more in base64"
            message = f"holds no secret; allowed: {allowed}"
            raise config_error(source, "webhooks.secret_env", self.secret_env, message)
        return secret
