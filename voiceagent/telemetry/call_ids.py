"""Ids of the current call, turn and response, which every log line gets that a call causes."""

from __future__ import annotations

from contextvars import ContextVar, Token
from dataclasses import dataclass, replace

import structlog


@dataclass(slots=True)
class CallIds:
    """Ids for the log, "" for none. turn: of the caller's newest turn. response: of the one in progress."""

    call: str
    turn: str = ""
    response: str = ""


_current: ContextVar[CallIds | None] = ContextVar("call_ids", default=None)


def enter_call(ids: CallIds) -> Token[CallIds | None]:
    """Add these ids, as they are at the time of each line, to the lines of the current context and of tasks
    that it starts. Return a token for `leave_call`.

    Work that calls share starts in an empty context, or its lines would name the call that came first.
    """
    return _current.set(ids)


def leave_call(token: Token[CallIds | None]) -> None:
    """Restore the ids before `enter_call`."""
    _current.reset(token)


def enter_work(**fixed: str) -> None:
    """Fix the ids of the current task, as the call goes on: those given, the others as they are now."""
    if (ids := _current.get()) is not None:
        _current.set(replace(ids, **fixed))


def add_call_ids(_: object, __: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    """Add the ids to a log line, as a structlog processor. Ids that the line names itself come first."""
    ids = _current.get()
    if ids is not None and event.setdefault("call", ids.call) == ids.call:
        if ids.turn:
            event.setdefault("turn", ids.turn)
        if ids.response:
            event.setdefault("response", ids.response)
    return event
