"""Latency of calls with a backend: timestamps of each response, as far as they are observable here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from llmcore.engine import Usage
from voiceagent.conversation import commands as do
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.latency import LatencyBudget, Outcome, Stamp, TurnCounts, TurnLedger, TurnReport
from voiceagent.upstream.messages import Action

NO_BUDGET = LatencyBudget()
"""No latency budget: the backend is beyond a network."""
_OUTCOMES: dict[notify.ResponseStatus, Outcome] = {
    "completed": "completed", "cancelled": "interrupted", "failed": "failed", "incomplete": "completed",
}  # fmt: skip


class UpstreamTimes:
    """Latency ledgers of one call, one a response.

    spoken_at_s: returns when, by the clock, the caller spoke the audio at a position of the connection.
    """

    def __init__(self, clock: Callable[[], float], spoken_at_s: Callable[[float], float]) -> None:
        self._clock = clock
        self._spoken_at_s = spoken_at_s
        self._turn: tuple[str, dict[Stamp, float]] = ("", {})
        self._ledgers: dict[str, TurnLedger] = {}
        self._answering: dict[str, dict[Stamp, float]] = {}  # by response: timestamps of the turn it answers

    def command(self, command: Action) -> None:
        """Timestamp a command. The first response after a turn answers it."""
        now_s = self._clock()
        match command:
            case notify.NotifySpeechStopped(item_id, at_s):
                self._turn = item_id, {"speech_end": self._spoken_at_s(at_s), "turn_decided": now_s}
            case notify.NotifyResponseStarted(response_id, out_of_band=True):  # out of band: answers no turn
                self._ledgers[response_id] = TurnLedger(response_id)
            case notify.NotifyResponseStarted(response_id):
                (item_id, stamps), self._turn = self._turn, ("", {})
                self._answering[response_id] = stamps
                ledger = self._ledgers[response_id] = TurnLedger(item_id or response_id)
                for name, stamp_s in stamps.items():
                    ledger.stamp(name, min(stamp_s, now_s))
                ledger.stamp("llm_request", now_s)
            case do.Play(response_id):
                self._stamp(response_id, "first_sound", now_s)
            case _:
                pass

    def first_frame(self, response_id: str, at_s: float) -> None:
        """Timestamp the first frame of a response handed to the transport."""
        self._stamp(response_id, "first_frame", at_s)

    def report(self, ended: notify.NotifyResponseEnded) -> TurnReport | None:
        """Return the latency report of a finished response; None if it is unknown."""
        ledger = self._ledgers.pop(ended.response_id, None)
        stamps = self._answering.pop(ended.response_id, {})
        if ledger is None:
            return None
        alone = ended.status == "completed" and not ledger.has("first_frame") and not ended.out_of_band
        if alone and not self._turn[0]:
            self._turn = ledger.turn_id, stamps  # only tool calls: the next response answers the turn
        report = ledger.report(NO_BUDGET, _OUTCOMES[ended.status], _counts(ended.usage))
        return replace(report, response_id=ended.response_id, interrupted_by=ended.interrupted_by)

    def hung_up(self, usages: Mapping[str, Usage]) -> list[TurnReport]:
        """Return the reports of the responses in progress at hang-up. usages: theirs, by id."""
        ledgers, self._ledgers = self._ledgers, {}
        return [
            replace(
                ledger.hung_up(NO_BUDGET, _counts(usages.get(response_id, Usage()))), response_id=response_id
            )
            for response_id, ledger in ledgers.items()
        ]

    def _stamp(self, response_id: str, name: Stamp, at_s: float) -> None:
        if (ledger := self._ledgers.get(response_id)) is not None:
            ledger.stamp(name, at_s)


def _counts(usage: Usage) -> TurnCounts:
    return TurnCounts(
        prompt_tokens=usage.prompt_tokens,
        cached_tokens=usage.cached_tokens,
        prompt_tokens_after_turn=usage.prompt_tokens - usage.cached_tokens,
    )
