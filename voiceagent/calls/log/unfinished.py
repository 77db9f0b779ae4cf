"""Responses in playout when a call's process was lost: their stages, from the log, as they have no report."""

from __future__ import annotations

from dataclasses import dataclass, field

from voiceagent.calls.log.codec import Json
from voiceagent.calls.log.texts import ReadTexts
from voiceagent.conversation.latency import LatencyBudget, StageTime, Stamp, TurnLedger


@dataclass(slots=True)
class _Response:
    """An unfinished response. stamps: its own, by the log's clock."""

    turn_id: str | None
    stamps: dict[Stamp, float] = field(default_factory=dict)


class UnfinishedResponses:
    """Tracks the responses of a log that have been heard and are not over.

    Stages that a log does not have, such as the first token, are part of the next stage. texts: of the log.
    """

    def __init__(self, texts: ReadTexts) -> None:
        self._texts = texts
        self._turns: dict[str, dict[Stamp, float]] = {}
        self._responses: dict[str, _Response] = {}
        self._ended: dict[Stamp, float] = {}
        self._called_by: str | None = None

    def record(self, line: Json) -> None:
        clock_s = line["s"]
        match line["event"]:
            case {"type": "TurnEnded", "at_s": at_s}:
                silent_s = max(0.0, line["heard_s"] - at_s)
                self._ended = {"speech_end": clock_s - silent_s, "turn_decided": clock_s}
            case {"type": "SpeechReady", "response_id": response_id}:
                self._stamp(response_id, "first_sound", clock_s)
            case {"type": "ToolCallsReady", "response_id": response_id}:
                caller = self._responses.get(response_id)
                heard = caller is None or "first_frame" in caller.stamps
                self._called_by = None if caller is None or heard else caller.turn_id
            case _:
                pass
        for command in line["commands"]:
            self._command(command, clock_s)

    def reported(self, response_id: str) -> None:
        self._responses.pop(response_id, None)

    def stages_by_response(self) -> dict[str, tuple[str, tuple[StageTime, ...]]]:
        """Return, by response, the turn that it answers and the stages until its first audio was sent."""
        found: dict[str, tuple[str, tuple[StageTime, ...]]] = {}
        for response_id, response in self._responses.items():
            if "first_frame" in response.stamps:
                ledger = TurnLedger(response.turn_id or response_id)
                of_turn = self._turns.get(response.turn_id or "", {})
                for name, at_s in {**of_turn, **response.stamps}.items():
                    ledger.stamp(name, at_s)
                found[response_id] = ledger.turn_id, ledger.report(LatencyBudget(), "interrupted").stages
        return found

    def _command(self, command: Json, clock_s: float) -> None:
        match command:
            case {"type": "NotifyInputCommitted", "item_id": turn_id}:
                self._turns.setdefault(turn_id, {}).update(self._ended)
                self._ended = {}
            case {"type": "NotifyTranscript", "item_id": turn_id, "final": True}:
                self._turns.setdefault(turn_id, {}).setdefault("transcript_final", clock_s)
            case {"type": "StartResponse", "out_of_band": True}:
                pass  # the caller does not wait for it
            case {"type": "StartResponse", "response_id": response_id, "turn_id": turn_id, "say": say}:
                say = self._texts.resolved(say)
                if turn_id is None and not say:  # a response to tool results, for which the caller waited
                    turn_id, self._called_by = self._called_by, None
                asked: dict[Stamp, float] = {} if say else {"llm_request": clock_s}
                self._responses[response_id] = _Response(turn_id, asked)
            case {"type": "Play", "response_id": response_id}:
                self._stamp(response_id, "first_frame", clock_s)
            case {"type": "NotifyResponseEnded" | "CancelResponse", "response_id": response_id}:
                self._responses.pop(response_id, None)
            case _:
                pass

    def _stamp(self, response_id: str, name: Stamp, at_s: float) -> None:
        if (response := self._responses.get(response_id)) is not None:
            response.stamps.setdefault(name, at_s)
