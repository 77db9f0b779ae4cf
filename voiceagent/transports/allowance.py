"""How fast one client may send: a token bucket of bytes. Pure: time is an argument."""

from __future__ import annotations

MESSAGE_BYTES = 4_096
"""That a message counts beside its own: what it costs to take in a short one."""
BURST_S = 4.0
"""So many seconds' worth may come at once: an upload of the sound that `server.input_buffer_s` takes."""


class Allowance:
    """What is `left` may be spent at once; it grows by `rate` bytes a second, to `BURST_S` seconds' worth.

    Whoever spends subtracts from `left`, and asks `wait_s` only where it is below 0: that costs a frame of
    sound a comparison.
    """

    def __init__(self, rate: int, now_s: float) -> None:
        self._rate = rate
        self._full = round(rate * BURST_S)
        self._filled_s = now_s
        self.left = self._full

    def wait_s(self, now_s: float) -> float:
        """How long to wait before anything more is taken, 0 where it may be at once."""
        grown = int((now_s - self._filled_s) * self._rate)
        self._filled_s += grown / self._rate
        self.left = min(self._full, self.left + grown)
        return max(0.0, -self.left / self._rate)
