"""Failures of remote models, classified: of the server, of one request, of this side."""

from __future__ import annotations

import re
from collections.abc import Callable
from email.utils import parsedate_to_datetime
from time import time

from llmcore.engine import (
    BusyError,
    LlmError,
    RefusedError,
    ReplyError,
    RequestError,
    ServerError,
    SetupError,
)

RETRIED_STATUSES = frozenset({408, 409, 429, 500, 502, 503, 504, 529})
BUSY_STATUSES = frozenset({429, 529})
REFUSED_STATUSES = frozenset({400, 413, 422})
SETUP_STATUSES = frozenset({401, 402, 403, 404, 405})
"""Statuses for a wrong key, plan, address or model."""
MODERATED_STATUSES = frozenset({400, 403, 422, 451})
_MODERATION = re.compile(
    r"moderat|content.?filter|content.?policy|flagged|safety|responsible.?ai|guardrail|data_inspection"
    r"|content exists risk|prohibited.?content|sensitive.?(content|words)|harmful|inappropriate",
    re.IGNORECASE,
)
"""Error texts about requests that a filter refused: OpenAI and Azure, OpenRouter, Alibaba, DeepSeek, Zhipu,
Bedrock.
"""


class BrokenStream(ValueError):
    """The stream broke or is unreadable; the text gives the reason."""


class AttemptFailed(Exception):
    """One attempt failed.

    status: HTTP status; None without an answer. retry_after_s: wait requested by the server. kind: error type
    to raise; None derives it from the status and from `body`, the whole answer.
    """

    def __init__(
        self,
        text: str,
        status: int | None = None,
        retry_after_s: float | None = None,
        kind: type[LlmError] | None = None,
        body: object = "",
    ) -> None:
        super().__init__(text)
        self.status = status
        self.retry_after_s = retry_after_s
        self.kind = kind or _kind_of(status, f"{text} {body}")

    @property
    def retryable(self) -> bool:
        """True if another attempt may succeed."""
        return self.kind is not RefusedError and (self.status is None or self.status in RETRIED_STATUSES)


def _kind_of(status: int | None, text: str) -> type[LlmError]:
    """Return the error type for an answer of this status."""
    if status in MODERATED_STATUSES and _MODERATION.search(text):
        return RefusedError
    if status in REFUSED_STATUSES:
        return RequestError
    if status in BUSY_STATUSES:
        return BusyError
    return SetupError if status in SETUP_STATUSES else ServerError


def error_in_stream(text: str, body: object = "") -> AttemptFailed:
    """Return the failure for an error inside a started stream. It concerns this request alone."""
    refused = _MODERATION.search(f"{text} {body}")
    return AttemptFailed(text, kind=RefusedError if refused else ReplyError)


def retry_after_s(header: str | None, now_s: Callable[[], float] = time) -> float | None:
    """Parse a Retry-After header, a number of seconds or a date (RFC 9110, 10.2.3), as seconds from now.

    Return None if it is missing or invalid.
    """
    if header is None:
        return None
    try:
        return max(0.0, float(header))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(header).timestamp() - now_s())
    except ValueError:
        return None
