"""Who may call, over whichever transport: owners of a key, holders of a client secret, and pages of this
server.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from voiceagent.access.auth import ApiKeys, presented_key, same_origin
from voiceagent.access.client_secrets import ClientSecrets


class NotAdmitted(Exception):
    """The caller may not call; the text says why. status: of HTTP. code: the protocol's name of the
    mistake.
    """

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


@dataclass(frozen=True, slots=True)
class Admission:
    """keys: those accepted, None for none. any_origin: without keys, let pages of other sites call.

    clock: seconds since 1970, by which secrets end.
    """

    keys: ApiKeys | None = None
    any_origin: bool = False
    secrets: ClientSecrets = field(default_factory=ClientSecrets)
    clock: Callable[[], float] = time.time

    @property
    def from_anywhere(self) -> bool:
        """Whether pages of any site may call, if they have a key where one is needed."""
        return self.keys is not None or self.any_origin

    def admit(self, headers: Mapping[str, str]) -> dict[str, Any]:
        """Let a caller in, by the headers of his request (names in lower case), or raise NotAdmitted.

        Returns the fields of the session that his secret prescribes.
        """
        secret = self.secrets.find(presented_key(headers), self.clock())
        if secret is not None:
            return secret.session
        self.admit_owner(headers)
        return {}

    def admit_owner(self, headers: Mapping[str, str]) -> None:
        """The same for what a client secret does not allow."""
        if self.keys is not None and not self.keys.accepts(presented_key(headers)):
            raise NotAdmitted(401, "invalid_api_key", "the API key is missing, wrong, or has expired")
        if self.keys is None and not self.any_origin and not same_origin(headers):
            message = f"pages of {headers['origin']} may not call a server without keys"
            raise NotAdmitted(403, "origin_not_allowed", message)
