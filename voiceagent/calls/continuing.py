"""Reads kept calls from which another call continues. Blocking."""

from __future__ import annotations

import structlog

from voiceagent.calls.archiver import GilYield
from voiceagent.calls.log.event_log import LogError, read_log
from voiceagent.calls.places import PlaceError, read_log_at
from voiceagent.calls.replaying.replay import CannotReplay, Continuation, continuation
from voiceagent.calls.rows import CallRow
from voiceagent.calls.store import CallStore, StoreError

log = structlog.get_logger()

MAX_LOG_BYTES = 4 << 20
"""Largest log of a call that can be continued, half an hour of talk. The events of longer ones are so many
objects that garbage collection would hold up the event loop of other calls.
"""


class CannotContinue(Exception):
    """The call cannot be continued. The text says why."""


def find_ended(store: CallStore, call_id: str) -> CallRow | None:
    """Return a kept call that is over, None if there is none. Raises CannotContinue."""
    try:
        call = store.get(call_id)
    except StoreError as error:
        log.warning("kept_call_unreadable", call=call_id, reason=str(error))
        raise CannotContinue("what is kept cannot be read now; the log says why") from error
    return None if call is None or call.state == "running" else call


def continued(call: CallRow) -> Continuation:
    """Return the end of a call. Raises CannotContinue."""
    yield_gil = GilYield()
    try:
        data = read_log_at(call.place)
        if len(data) > MAX_LOG_BYTES:
            raise CannotContinue(f"its log has {len(data)} bytes; allowed: at most {MAX_LOG_BYTES}")
        return continuation(read_log(data, call.call_id, yield_gil), yield_gil)
    except (LogError, PlaceError) as error:
        raise CannotContinue("what is kept of this session cannot be read") from error
    except CannotReplay as reason:
        raise CannotContinue(str(reason)) from reason
