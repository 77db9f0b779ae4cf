"""Translation between the Live API of a backend and the Realtime API. Pure.

https://developers.openai.com/api/docs/guides/live-delegation; types and limits: `openai.types.live` of the
openai package 3.57. Tools run in this server: the session delegates to a Responses model that knows them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from voiceagent.upstream import messages
from voiceagent.upstream.live import session, speech
from voiceagent.upstream.live.speech import CallerTurn, Output, created, done
from voiceagent.upstream.messages import Event, Wait
from voiceagent.upstream.responses import MAX_TOOL_CALLS

REQUEST_S = 10.0
"""Time after which a request that the model did not speak to counts as answered. Delegation takes seconds."""
ANSWER = "Answer the caller's last message now."
STOPPED = "[The application has stopped your speech: the caller did not hear the rest. Wait for the caller.]"
_ENDS = {"response.completed": "completed", "response.incomplete": "incomplete", "response.failed": "failed"}
"""Statuses of a delegated response, by its last event."""


class LiveApi:
    """The translation for one call. new_id: creates ids. backend_model: the Responses model."""

    full_duplex = True
    max_ahead_s = 60.0
    """Audio is sent as it is spoken; a stalled network delivers some of it at once."""

    def __init__(self, new_id: Callable[[str], str], model: str = "", backend_model: str = "") -> None:
        self._new_id = new_id
        self._model = model
        self._backend_model = backend_model
        self._output, self._turn = Output(new_id), CallerTurn(new_id)
        self._calls: dict[str | None, list[Event]] = {}  # by delegation: calls of a response in progress
        self._has_results = self._is_requested = False
        self._instructions, self._claimed = "", False

    def opening(self, update: Event, items: Sequence[Event]) -> list[Event]:
        """Return the `session.start` with settings and history."""
        self._instructions, self._claimed = update["session"]["instructions"], session.is_claimed(update)
        return [session.started(update, items, self._model, self._backend_model)]

    def refusal(self, event: Event) -> str | None:
        """Return why a request is refused: a Live session has one conversation, which is spoken, and decides
        about turns itself.
        """
        if event["type"] == "session.update" and event["session"]["audio"]["input"]["turn_detection"] is None:
            return (
                "calls go to a Live API upstream here, which detects turns itself; leave out turn_detection"
            )
        response = event.get("response") or {}
        if response.get("conversation") == "none" or response.get("input") is not None:
            return "calls go to a Live API upstream here, which has no responses out of band"
        if response.get("output_modalities") == ["text"]:
            return "calls go to a Live API upstream here, whose responses are spoken"
        return None

    # ---- to the backend

    def outgoing(self, event: Event) -> list[Event | Wait]:
        """See `UpstreamApi`. Events about the audio buffer and about playout have no counterpart."""
        match event["type"]:
            case "session.update":
                return [*self._update(event)]
            case "conversation.item.create":
                return [*self._item(event["item"])]
            case "response.create":
                self._is_requested = True
                return [*self._request(event), Wait(speech.REQUEST, REQUEST_S)]
            case "response.cancel":
                return [*session.appended("thinking", STOPPED)]
            case _:
                return []

    def _update(self, event: Event) -> list[Event]:
        events: list[Event] = []
        instructions, claimed = event["session"]["instructions"], session.is_claimed(event)
        if instructions != self._instructions:
            self._instructions = instructions
            text = f"These instructions replace all earlier ones: {instructions}"
            events += session.appended("instructions", text)
        if claimed != self._claimed:
            self._claimed = claimed
            text = session.SILENT_TURNS if claimed else session.FREE_TURNS
            events += session.appended("instructions", text)
        delegation = {"type": "responses", "responses": session.backend(event)}
        return [*events, {"type": "session.update", "session": {"delegation": delegation}}]

    def _item(self, item: Event) -> list[Event]:
        if item["type"] == "function_call_output":
            self._has_results = True
            output = {name: item[name] for name in ("type", "call_id", "output")}
            return [{"type": "response.item.create", "item": output}]
        text = session.text_of(item).strip()
        if item["type"] != "message" or not text:
            return []
        match item["role"]:
            case "system":
                return session.appended("instructions", text)
            case "assistant":
                return session.appended("thinking", f"[You have said: {text}]")
            case _:
                return session.appended("thinking", f"[The caller writes: {text}]")

    def _request(self, event: Event) -> list[Event]:
        """Return the request for a response: of the backend if it waits for results, else of the frontend."""
        event_id = event.get("event_id")
        given = (event.get("response") or {}).get("instructions") or ""
        guidance = given.removeprefix(self._instructions).strip()
        if not guidance and self._has_results:
            self._has_results = False
            named = {} if event_id is None else {"event_id": event_id}
            return [{"type": "response.create", **named}]
        return session.appended("commentary", guidance or ANSWER, event_id)

    # ---- from the backend

    def ignores(self, event: Event) -> bool:
        """Return True for the silence between responses."""
        return event.get("voiced") is False and not self._output.is_open

    def incoming(self, event: Event) -> list[Event | Wait]:
        match event["type"]:
            case messages.LIVE_AUDIO:
                if self.ignores(event):
                    return []
                spoken = self._spoken()
                spoken += self._output.audio(event["delta"], event.get("voiced", True))
                return spoken if self._output.is_open else [*spoken, *self._turn.announce()]
            case "session.output_transcript.delta":
                return [*self._spoken(), *self._output.words(event["delta"])]
            case "session.input_transcript.delta":
                times = event["start_ms"], event["end_ms"]
                ended = self._end_interrupted()
                words = self._turn.words(event["delta"], *times, agent_speaks=self._output.is_open)
                return [*ended, *words]
            case "response.event":
                return self._on_backend(event.get("delegation_id"), event["event"])
            case "session.closed":
                return self.lost()
            case "error":
                error = event["error"]
                return [{"type": "error", "error": error | {"event_id": error.get("client_event_id")}}]
            case _:
                return []

    def waited(self, name: str) -> list[Event | Wait]:
        match name:
            case speech.OUTPUT:
                return self._end_output()
            case speech.GAP:
                self._output.interrupted = self._output.is_open
                return []
            case speech.TURN:
                return self._turn.complete()
            case speech.REQUEST if self._is_requested:
                self._is_requested = False
                response_id = self._new_id("resp")
                return [created(response_id), done(response_id)]
        return []

    def lost(self) -> list[Event | Wait]:
        """End the turn in progress. The response in progress fails with the connection."""
        events = self._turn.complete()
        self._output, self._turn = Output(self._new_id), CallerTurn(self._new_id)
        self._calls.clear()
        self._has_results = self._is_requested = False
        return events

    def _spoken(self) -> list[Event | Wait]:
        """Begin a response unless one is in progress. A requested one does not continue another."""
        ended = self._end_interrupted() if self._is_requested else []
        if self._output.is_open:
            return []
        self._is_requested = False
        return [*ended, *self._turn.stop(), *self._output.begin()]

    def _end_output(self) -> list[Event | Wait]:
        """End the response. The caller's turn that began during it is announced."""
        return [*self._output.end(), *self._turn.announce()]

    def _end_interrupted(self) -> list[Event | Wait]:
        return self._end_output() if self._output.interrupted else []

    def _on_backend(self, delegation_id: str | None, event: Event) -> list[Event | Wait]:
        """Collect the function calls of a delegated response; they are run once it is complete."""
        kind = event["type"]
        if kind == "response.output_item.done" and event["item"]["type"] == "function_call":
            if sum(map(len, self._calls.values())) >= MAX_TOOL_CALLS:
                raise ValueError(f"{MAX_TOOL_CALLS} function calls are of responses that have not ended")
            self._calls.setdefault(delegation_id, []).append(event["item"])
        if kind not in _ENDS:
            return []
        calls = self._calls.pop(delegation_id, [])
        if not calls and kind != "response.failed":
            return []  # its text is for the frontend
        response_id = self._new_id("resp")
        made: list[Event | Wait] = []
        if kind != "response.failed":
            place = {"type": "response.output_item.done", "response_id": response_id}
            made = [place | {"item": item} for item in calls]
        ended = done(response_id, _ENDS[kind], **_end(event["response"]))
        before = [*self._end_interrupted(), *self._turn.complete()]
        return [*before, created(response_id), *made, ended]


def _end(response: Event) -> dict[str, Any]:
    """Return usage and failure of a response of the Responses API, as the Realtime API has them."""
    usage = response.get("usage") or {}
    cached = (usage.get("input_tokens_details") or {}).get("cached_tokens", 0)
    return {
        "usage": {
            "input_tokens": usage.get("input_tokens", 0),
            "input_token_details": {"cached_tokens": cached},
            "output_tokens": usage.get("output_tokens", 0),
        },
        "status_details": {"error": response.get("error"), **(response.get("incomplete_details") or {})},
    }
