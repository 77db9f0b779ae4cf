"""When a process is too busy to take one more call: by the lateness of its event loop, not by its CPU, of
which a late one may have some left and a calm one none. Pure.
"""

from __future__ import annotations

from llmcore.serving.admission import Refusal

RETRY_AFTER_S = 5.0


def lag_refusal(lag_s: float, max_lag_s: float, calls: int) -> Refusal | None:
    """Why a process whose loop is so late takes no call beside `calls` others, if it takes none."""
    if not calls or lag_s <= max_lag_s:
        return None
    reason = (
        f"busy: the server is {lag_s * 1000:.0f} ms late (server.max_loop_lag_ms is {max_lag_s * 1000:g})"
    )
    return Refusal(reason, RETRY_AFTER_S)
