"""Interface of a telephony provider: a table of `[telephony]` that makes a `PhoneLine`.

A new provider is a file with such a table, and a field of `TelephonyConfig`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from starlette.routing import BaseRoute

from voiceagent.transports.telephony.control import CallControl
from voiceagent.transports.telephony.outbound.dialer import Dialer
from voiceagent.transports.telephony.resuming import PhoneStreams
from voiceagent.transports.telephony.stream.serializer import Serializer, Started
from voiceagent.validation.errors import ConfigError, config_error
from voiceagent.validation.section import Section

API_URL = r"^https?://[^/\s]+/?$"

Control = Callable[[Started], CallControl | None]
"""Returns the control of a call; None if the call cannot be controlled."""
Trust = Callable[[str, Mapping[str, str]], bool]
"""Returns True if a handshake with this URL and headers (names in lower case) comes from the provider."""


def no_control(started: Started) -> None:
    """Return None: calls end with their connection."""


def any_agent(name: str) -> None:
    """Do nothing: the server has an agent for every name."""


@dataclass(frozen=True, slots=True)
class Placement:
    """Choice of gateway and agent for a call. next_call: returns the URL of the gateway that takes the next
    call, None for this one; raises CallRefused. own_url: the URL of this gateway, if it has one. check_agent:
    raises CallRefused if no agent has the name at the end of the URL. dialer: of outbound calls; None for
    none. connecting: see `LineOptions`. streams: those that another one can continue.
    """

    next_call: Callable[[], str | None] = lambda: None
    own_url: str | None = None
    check_agent: Callable[[str], None] = any_agent
    dialer: Dialer | None = None
    connecting: str = ""
    streams: PhoneStreams = field(default_factory=PhoneStreams)


@dataclass(frozen=True, slots=True)
class PhoneLine:
    """A telephony provider over WebSocket. trusts: authenticates handshakes; None accepts all except those of
    other sites' pages. number_webhook: suffix of the stream's path that makes the URL of the number's
    webhook, "" for none. inband_keys: keys may come as tones only. reopens_streams: the provider opens
    another stream for an outbound call that lost its own.
    """

    new_serializer: Callable[[], Serializer]
    control: Control = no_control
    trusts: Trust | None = None
    webhooks: tuple[BaseRoute, ...] = ()
    number_webhook: str = ""
    inband_keys: bool = False
    reopens_streams: bool = False


@dataclass(frozen=True, slots=True)
class LineSettings:
    """Arguments of `ProviderConfig.line`. The table is `telephony.<provider>` of the file `source`.

       public_url: where providers reach this server, if configured. transfers: numbers by destination name.
    placement: chooses the gateway and the agent of a call.
    """

    provider: str
    public_url: str | None
    transfers: Mapping[str, str]
    environment: Mapping[str, str]
    source: Path
    placement: Placement = Placement()

    def key(self, setting: str, variable: str | None) -> str | None:
        """Return the key in the environment variable that `setting` names; None if it names none.

        Raise ConfigError.
        """
        if variable is None:
            return None
        key = self.environment.get(variable, "").strip()
        if not key:
            message = "this environment variable is empty or not set; allowed: one that holds the key"
            raise self.config_error(setting, variable, message)
        return key

    def config_error(self, setting: str, value: object, message: str) -> ConfigError:
        return config_error(self.source, f"telephony.{self.provider}.{setting}", value, message)


class ProviderConfig(Section):
    """Settings of every provider's table."""

    key_name: ClassVar[str]
    """Name of the setting that names the environment variable with the key for authentication."""

    @property
    def key_env(self) -> str | None:
        """Value of the setting that `key_name` names."""
        name: str | None = getattr(self, self.key_name)
        return name

    @abstractmethod
    def line(self, settings: LineSettings) -> PhoneLine:
        """Return the configured provider. Raise ConfigError."""
