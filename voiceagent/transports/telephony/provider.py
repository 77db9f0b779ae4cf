"""What a phone provider is to the server: a table of `[telephony]` that makes a line.

A new one is a folder with such a table, and a line in `TelephonyConfig`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from starlette.routing import BaseRoute

from voiceagent.transports.telephony.control import CallControl
from voiceagent.transports.telephony.stream.serializer import Serializer, Started
from voiceagent.validation.errors import ConfigError, problem
from voiceagent.validation.section import Section

API_URL = r"^https?://[^/\s]+/?$"

Control = Callable[[Started], CallControl | None]
"""Makes what hangs up and transfers a call; None for a call that cannot be controlled."""
Trust = Callable[[str, Mapping[str, str]], bool]
"""Whether a handshake for this URL, with these headers (names in lower case), comes from the provider."""


def no_control(started: Started) -> None:
    """The control of a line whose calls end with their connection: there is none."""


def any_agent(name: str) -> None:
    """Check nothing: the server has an agent for every name."""


@dataclass(frozen=True, slots=True)
class Placement:
    """Which gateway, and which of its agents, takes a call. next_call: the URL at which that gateway is
    reached alone, None for this one, by the way that the request took; it raises CallRefused. own_url: that
    of this one, where it has one. check_agent: raises CallRefused where no agent has the name that ends a
    line's URL.
    """

    next_call: Callable[[], str | None] = lambda: None
    own_url: str | None = None
    check_agent: Callable[[str], None] = any_agent


@dataclass(frozen=True, slots=True)
class PhoneLine:
    """A provider's calls, over WebSocket. trusts: None lets everyone in who is no page of another site.
    number_webhook: what stands behind the stream's path in the URL of the webhook that numbers have, if any.
    """

    new_serializer: Callable[[], Serializer]
    control: Control = no_control
    trusts: Trust | None = None
    webhooks: tuple[BaseRoute, ...] = ()
    number_webhook: str = ""


@dataclass(frozen=True, slots=True)
class LineSettings:
    """What a line is made with beside its table, which is `telephony.<provider>` of the file `source`.

    public_url: where providers reach this server, if it is configured. transfers: numbers by their names.
    placement: which gateway and agent takes a call.
    """

    provider: str
    public_url: str | None
    transfers: Mapping[str, str]
    environment: Mapping[str, str]
    source: Path
    placement: Placement = Placement()

    def key(self, setting: str, variable: str | None) -> str | None:
        """The key in the environment variable that the table names at `setting`; None where it names none.

        Raises ConfigError.
        """
        if variable is None:
            return None
        key = self.environment.get(variable, "").strip()
        if not key:
            message = "holds nothing; allowed: the name of an environment variable with the key"
            raise self.problem(setting, variable, message)
        return key

    def problem(self, setting: str, value: object, message: str) -> ConfigError:
        """The error of one setting of the table."""
        return problem(self.source, f"telephony.{self.provider}.{setting}", value, message)


class ProviderConfig(Section):
    """What the tables of all providers have."""

    open: bool = False
    """Accept everyone who can reach the port, without authentication."""

    key_name: ClassVar[str]
    """The setting that names the environment variable with the key, by which callers are checked."""

    @property
    def key_env(self) -> str | None:
        """What that setting has."""
        name: str | None = getattr(self, self.key_name)
        return name

    @abstractmethod
    def line(self, settings: LineSettings) -> PhoneLine:
        """The provider's line. Raises ConfigError."""
