"""Delegations of one Live session: work that the model hands to the client or to the backend.

Client: the model calls the tool `delegate`; the client's first commentary is its result.
Responses: this server's LLM is the backend. A response that calls the client's functions is a delegation; the
client answers all calls and requests the continuation, which may call functions again.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from voiceagent.conversation import notifications as notify
from voiceagent.transports.live.protocol.backend_run import BackendRun
from voiceagent.transports.realtime.protocol.errors import RequestError
from voiceagent.validation.errors import shorten

MAX_DELEGATIONS = 128
"""Remembered delegations of one session; the oldest are forgotten."""

Target = Literal["client", "responses"]


@dataclass(slots=True)
class Delegation:
    """One delegation. call_ids: calls without a result. continued: requested after its last calls."""

    delegation_id: str
    call_ids: set[str] = field(default_factory=set)
    continued: bool = False


class Delegations:
    """Owner of the delegations. Methods return events without `event_id`.

    model: name of the backend, for its snapshots. new_id: makes an id with a prefix.
    """

    def __init__(self, target: Target, model: str, new_id: Callable[[str], str]) -> None:
        self._target = target
        self._model = model
        self._new_id = new_id
        self._known: OrderedDict[str, Delegation] = OrderedDict()
        self._runs: dict[str, BackendRun] = {}
        self._requested: tuple[str | None, str | None] | None = None

    @property
    def to_client(self) -> bool:
        """True if the model hands its work to the client."""
        return self._target == "client"

    @property
    def awaited(self) -> bool:
        """True while a delegation has no result."""
        return any(one.call_ids for one in self._known.values())

    # ---- notifications of the call

    def on_response_started(self, response_id: str, created_at: int) -> list[dict[str, Any]]:
        """Begin the requested continuation, if the response is one."""
        if self._requested is None:
            return []
        (delegation_id, client_event_id), self._requested = self._requested, None
        run = BackendRun(response_id, delegation_id, self._model, created_at, client_event_id)
        self._runs[response_id] = run
        return _wrapped(run, run.begin())

    def on_text(self, text: notify.NotifyResponseText) -> list[dict[str, Any]]:
        """Return the events of text; none for the frontend's own words."""
        run = self._runs.get(text.response_id)
        return [] if run is None else _wrapped(run, run.text(text.item_id, text.text))

    def on_tool_call(self, called: notify.NotifyToolCall, now_ms: int, unix_s: int) -> list[dict[str, Any]]:
        """Delegate a function call of the model. A session that delegates to the client offers one tool, so
        that each call hands work over.
        """
        if self._target == "client":
            return self._delegate(called, now_ms)
        run = self._runs.get(called.response_id)
        events: list[dict[str, Any]] = []
        delegation = self._known.get(run.delegation_id or "") if run is not None else None
        if delegation is None:
            delegation = self._new()
            run = BackendRun(called.response_id, delegation.delegation_id, self._model, unix_s)
            self._runs[called.response_id] = run
            events = [
                self._created(delegation, now_ms, response_id=called.response_id),
                *_wrapped(run, run.begin()),
            ]
        assert run is not None
        delegation.call_ids.add(called.call.call_id)
        delegation.continued = False
        return events + _wrapped(run, run.call(called.item_id, called.call))

    def on_response_ended(self, ended: notify.NotifyResponseEnded) -> list[dict[str, Any]]:
        """End the run of a response, if it has one."""
        run = self._runs.pop(ended.response_id, None)
        return [] if run is None else _wrapped(run, run.end(ended))

    # ---- requests of the client

    def check_id(self, delegation_id: str | None) -> None:
        """Raise RequestError unless appended context may name this delegation."""
        if delegation_id is None:
            return
        if self._target == "responses":
            message = "delegation_id must be null: the session delegates to responses"
            raise RequestError("invalid_value", message, "delegation_id")
        if delegation_id not in self._known:
            message = f"there is no delegation {shorten(delegation_id)}"
            raise RequestError("delegation_not_found", message, "delegation_id")

    def call_of(self, delegation_id: str | None) -> str | None:
        """Return the call that commentary for this delegation answers; None if it was answered already."""
        delegation = self._known.get(delegation_id or "")
        return next(iter(delegation.call_ids), None) if delegation is not None else None

    def check_waits(self, call_id: str) -> None:
        """Raise RequestError unless this function call waits for its output."""
        self.check_backend()
        if not any(call_id in delegation.call_ids for delegation in self._known.values()):
            message = f"no function call {shorten(call_id)} waits for its output"
            raise RequestError("function_call_not_found", message, "item.call_id")

    def on_output(self, call_id: str) -> None:
        """Record that the conversation has the output of a call. One that it refuses may be sent again."""
        for delegation in self._known.values():
            delegation.call_ids.discard(call_id)

    def request_continuation(self, client_event_id: str | None = None) -> bool:
        """Record a request for a response, whose events name the client's. Return False if one waits to start
        already: it covers this request too. Raise RequestError if function calls have no output.
        """
        self.check_backend()
        missing = sorted(call_id for one in self._known.values() for call_id in one.call_ids)
        if missing:
            message = f"send the outputs of these function calls first: {', '.join(missing)}"
            raise RequestError("function_call_outputs_required", message)
        if self._requested is not None:
            return False
        waiting = [one for one in self._known.values() if not one.continued]
        for delegation in waiting:  # one response reports all results
            delegation.continued = True
        self._requested = (waiting[-1].delegation_id if waiting else None, client_event_id)
        return True

    def check_backend(self) -> None:
        """Raise RequestError unless the session delegates to the backend."""
        if self._target != "responses":
            message = "the session delegates to the client; this event requires the delegation 'responses'"
            raise RequestError("invalid_value", message, "type")

    def _delegate(self, called: notify.NotifyToolCall, now_ms: int) -> list[dict[str, Any]]:
        delegation = self._new()
        delegation.call_ids.add(called.call.call_id)
        return [self._created(delegation, now_ms)]

    def _new(self) -> Delegation:
        delegation = Delegation(self._new_id("delegation"))
        self._known[delegation.delegation_id] = delegation
        while len(self._known) > MAX_DELEGATIONS:
            self._known.popitem(last=False)
        return delegation

    def _created(self, delegation: Delegation, now_ms: int, **fields: str) -> dict[str, Any]:
        about = {"id": delegation.delegation_id, "type": "delegation", "target": self._target}
        return {"type": "session.delegation.created", "delegation": about | fields, "offset_ms": now_ms}


def _wrapped(run: BackendRun, events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return events of the Responses API as events of the session."""
    about = {"type": "response.event", "delegation_id": run.delegation_id}
    return [about | {"client_event_id": run.client_event_id, "event": event} for event in events]
