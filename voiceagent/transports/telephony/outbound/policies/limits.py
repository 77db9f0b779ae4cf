"""Limits of outbound calls: the numbers that may be called, and the rate of calls.

Toll fraud, calls to expensive numbers at the owner's cost, is the risk of any server that can dial. So the
allow list is empty by default.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

NUMBER = re.compile(r"\+[1-9][0-9]{6,14}")
"""A phone number in ITU-T E.164 form."""
PREFIX = r"^\+[1-9][0-9]{0,14}$"
HOUR_S = 3600.0


class DialRefused(Exception):
    """A call that is not placed; the message says why.

    code: the error code of the API. status: its HTTP status. retry_after_s: time after which to retry, if
    that helps.
    """

    def __init__(self, code: str, message: str, status: int, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.status = status
        self.retry_after_s = retry_after_s


@dataclass(frozen=True, slots=True)
class DialLimits:
    """Limits of a server. allow: prefixes of numbers. max_calls: at the same time. max_calls_per_hour: in
    any 3600 seconds.
    """

    allow: tuple[str, ...] = ()
    max_calls: int = 5
    max_calls_per_hour: int = 60

    def check_number(self, number: str) -> None:
        """Raise DialRefused unless this number may be called."""
        if NUMBER.fullmatch(number) is None:
            message = (
                f"to is {number[:40]!r}; allowed: + and country code, then digits only, such as +15550100000"
            )
            raise DialRefused("invalid_number", message, 400)
        if not any(number.startswith(prefix) for prefix in self.allow):
            allowed = f"numbers that begin with {', '.join(self.allow)}" if self.allow else "no number"
            raise DialRefused(
                "number_not_allowed", f"to is {number}; allowed: {allowed} (outbound.allow)", 403
            )

    def wait_s(self, running: int, placed_s: Sequence[float], now_s: float) -> float:
        """Return the seconds until one more call may be placed, 0 if it may be placed now.

        running: calls that are not over. placed_s: times at which calls were placed. With `max_calls`
        running, the wait is unknown; one second is returned.
        """
        recent = sorted(at_s for at_s in placed_s if at_s > now_s - HOUR_S)
        if len(recent) >= self.max_calls_per_hour:
            return max(0.0, recent[len(recent) - self.max_calls_per_hour] + HOUR_S - now_s)
        return 1.0 if running >= self.max_calls else 0.0

    def check_rate(self, running: int, placed_s: Sequence[float], now_s: float) -> None:
        """Raise DialRefused if no further call may be placed now. Arguments as for `wait_s`."""
        wait_s = self.wait_s(running, placed_s, now_s)
        if wait_s > 0:
            limit = f"{self.max_calls_per_hour} calls an hour (outbound.max_calls_per_hour)"
            if running >= self.max_calls:
                limit = f"{self.max_calls} calls at the same time (outbound.max_calls)"
            raise DialRefused("too_many_calls", f"the limit is reached: {limit}", 429, wait_s)
