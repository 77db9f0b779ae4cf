"""Time stamps of each response, from a call's events and commands."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from llmcore.engine import Usage
from voiceagent.conversation import commands as do
from voiceagent.conversation import events as ev
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.causes import TurnEndCode
from voiceagent.conversation.end_of_turn.probability import EndOfTurn
from voiceagent.conversation.history import ToolOutputItem
from voiceagent.conversation.latency import Outcome, Stamp, TurnCounts, TurnLedger, TurnReport
from voiceagent.session.responding import Milestone
from voiceagent.session.services import Measuring
from voiceagent.telemetry.call_ids import CallIds

_OUTCOMES: dict[notify.ResponseStatus, Outcome] = {
    "completed": "completed",
    "incomplete": "completed",
    "cancelled": "interrupted",
    "failed": "failed",
}

REMEMBERED_TURNS = 8
"""Number of turns whose stamps are kept for a late response; most turns without a response are noises."""


@dataclass(slots=True)
class _Turn:
    """Stamps of one turn of the caller, in seconds of the clock."""

    stamps: dict[Stamp, float] = field(default_factory=dict)
    counts: TurnCounts = field(default_factory=TurnCounts)
    decision: EndOfTurn | None = None
    end_code: TurnEndCode = ""

    def count(self, **more: int) -> None:
        self.counts += TurnCounts(**more)


@dataclass(slots=True)
class _Response:
    """A response and the turn it answers. tools: calls whose results it is about."""

    ledger: TurnLedger
    turn: _Turn
    preemptive: bool = False
    released: bool = False
    out_of_band: bool = False
    usage: Usage = field(default_factory=Usage)
    tools: _Tools | None = None

    def count_usage(self) -> None:
        prompt, cached = self.usage.prompt_tokens, self.usage.cached_tokens
        # a preemptive response was prefilled before the turn was over
        after_turn = 0 if self.released else prompt - cached
        self.turn.count(
            prompt_tokens=prompt,
            cached_tokens=cached,
            prompt_tokens_after_turn=after_turn,
            thought_tokens=self.usage.thought_tokens,
        )


@dataclass(slots=True)
class _Tools:
    """Tool calls whose results must be reported. response: the response that made them. words: the result
    that is spoken as it is, "" for none. counts: of preemptive responses about their results.
    """

    response: _Response
    called_s: float
    done_s: float | None = None
    words: str = ""
    counts: TurnCounts = field(default_factory=TurnCounts)


class TurnStamps:
    """Times and counts of a call's turns and responses, preemptive ones included, from its events. They
    become the figures of a turn in log and metrics.

    spoken_at_s: returns the clock time of a position in the caller's audio. ids: of the call's log lines,
    kept current.
    """

    def __init__(
        self, measuring: Measuring, spoken_at_s: Callable[[float], float], ids: CallIds | None = None
    ) -> None:
        self._ids = ids or CallIds("")
        self._metrics = measuring.metrics
        self._budget = measuring.budget
        self._clock = measuring.clock
        self._spoken_at_s = spoken_at_s
        self._spoken_id = ""
        self._turns: OrderedDict[str, _Turn] = OrderedDict()
        self._responses: dict[str, _Response] = {}
        self._tools: _Tools | None = None

    def on_event(self, event: ev.Event) -> None:
        """Stamp and count an event."""
        match event:
            case ev.TurnEnded(at_s):
                stamps = self._turn(self._spoken_id).stamps
                stamps["speech_end"] = self._spoken_at_s(at_s)
                stamps["turn_decided"] = self._clock()
            case ev.TranscriptChanged(item_id=item_id, settled=True):
                self._turn(item_id).stamps["transcript_final"] = self._clock()
            case ev.ToolCallsReady(response_id):
                response = self._responses.get(response_id)
                if response is not None and not response.out_of_band:
                    self._tools = _Tools(response, self._clock())
            case ev.SpeechRequested(text, result_of=call_id) if call_id and self._tools is not None:
                self._tools.done_s, self._tools.words = self._clock(), text
            case ev.ToolFinished() | ev.ItemCreated(item=ToolOutputItem()):
                if self._tools is not None:
                    self._tools.done_s = self._clock()
            case ev.ResponseGenerated(response_id, usage=usage):
                if response := self._responses.get(response_id):
                    response.usage = usage
            case ev.ResponseFailed(stage=stage) if stage != "refusal":
                self._metrics.engine_errors.labels(stage).inc()
            case ev.RecognitionFailed():
                self._metrics.engine_errors.labels("recognizer").inc()
            case _:
                pass

    def on_command(self, command: do.Command) -> None:
        """Stamp the start that a command makes."""
        match command:
            case do.StartRecognition(item_id):
                self._spoken_id = self._ids.turn = item_id
            case do.RequireSilence(item_id, decision):
                self._turn(item_id).decision = decision
            case notify.NotifyInputCommitted(item_id, end_code=end_code):
                self._turn(item_id).end_code = end_code
            case do.StartResponse(response_id=response_id, out_of_band=True):
                self._responses[response_id] = _Response(TurnLedger(response_id), _Turn(), out_of_band=True)
            case do.StartResponse(response_id, turn_id=None, say=say) if self._reports_tools(say):
                self._open_results(response_id, command.preemptive)
            case do.StartResponse(response_id=response_id, turn_id=turn_id, preemptive=preemptive):
                self._open(response_id, turn_id or response_id, preemptive)
            case do.ReleaseResponse(response_id):
                response = self._responses[response_id]
                response.preemptive, response.released = False, True
                response.turn.count(preemptive_hits=1)
                if response.tools is not None:
                    self._stamp_tools(response, response.tools)
            case notify.NotifyResponseStarted(response_id):
                if response_id not in self._responses:  # an apology uses no engine
                    self._open(response_id, self._spoken_id, preemptive=False)
                response = self._responses[response_id]
                if not response.out_of_band:
                    self._ids.response = response_id
                for name, at_s in response.turn.stamps.items():
                    response.ledger.stamp(name, at_s)
            case _:
                pass

    def milestone(self, response_id: str, name: Milestone) -> None:
        """Stamp a milestone of a response's generation; only the first time counts."""
        if response := self._responses.get(response_id):
            response.ledger.stamp(name, self._clock())

    def first_token_due_s(self, response_id: str) -> float:
        """Return the time by which the LLM's first token keeps the turn within its budget.

        A response to no speech or about tool results, and a preemptive one whose turn is not over, has the
        LLM stage's own budget.
        """
        budget, response = self._budget, self._responses.get(response_id)
        spoken_s = response.turn.stamps.get("speech_end") if response else None
        with_tools = response is not None and "tools_done" in response.turn.stamps
        if spoken_s is None or budget.total_s is None or with_tools:
            return self._clock() + budget.stages.get("llm_ttft", 0.0)
        after_s = sum(budget.stages.get(stage, 0.0) for stage in ("fragmenting", "synthesis", "playout"))
        return spoken_s + budget.total_s - after_s

    def first_frame(self, response_id: str, at_s: float) -> None:
        """Stamp the first frame of a response that was handed to the transport."""
        if response := self._responses.get(response_id):
            response.ledger.stamp("first_frame", at_s)

    def played(self, response_id: str, played_s: float) -> None:
        """Stamp the start of playback from the client's current position."""
        response = self._responses.get(response_id)
        if response is not None and played_s > 0:
            response.ledger.stamp("played", self._clock() - played_s)

    def cancelled(self, response_id: str, pieces: int) -> None:
        """Record that a response was cancelled after `pieces` tokens, wasted if it was preemptive."""
        response = self._responses.get(response_id)
        if response is not None and response.preemptive:
            response.turn.count(tokens_wasted=pieces)
            if response.tools is not None:
                response.tools.counts = response.turn.counts
                self._tools = response.tools  # its own calls do not run
            del self._responses[response_id]

    def report(self, ended: notify.NotifyResponseEnded) -> TurnReport | None:
        """Return the report of a response that is over, and count it; None if it is unknown."""
        response = self._responses.pop(ended.response_id, None)
        if self._ids.response == ended.response_id:
            self._ids.response = ""
        if response is None:
            return None
        response.usage = ended.usage
        response.count_usage()
        outcome: Outcome = "false_end" if ended.false_end else _OUTCOMES[ended.status]
        report = response.ledger.report(self._budget, outcome, response.turn.counts)
        report = replace(report, interrupted_by=ended.interrupted_by)
        return self._observed(report, response, ended.response_id)

    def hung_up(self) -> list[TurnReport]:
        """Return reports of the responses in which the call ended, and count them; no preemptive ones."""
        responses, self._responses = self._responses, {}
        reports: list[TurnReport] = []
        for response_id, response in responses.items():
            if not response.preemptive:
                response.count_usage()
                report = response.ledger.hung_up(self._budget, response.turn.counts)
                reports.append(self._observed(report, response, response_id))
        return reports

    def _observed(self, report: TurnReport, response: _Response, response_id: str) -> TurnReport:
        turn = response.turn
        report = replace(report, end_of_turn=turn.decision, end_code=turn.end_code, response_id=response_id)
        self._metrics.observe(report, self._ids.call)
        return report

    def _reports_tools(self, say: str) -> bool:
        """Return True if a response with this fixed text, "" for the model's, is about tool results."""
        return self._tools is not None and say in ("", self._tools.words)

    def _open_results(self, response_id: str, preemptive: bool) -> None:
        """Count a response about tool results in the turn of the response that called the tools."""
        tools = self._tools
        assert tools is not None
        turn = _Turn(counts=tools.counts)
        turn.count(preemptive_attempts=int(preemptive))
        response = _Response(TurnLedger(tools.response.ledger.turn_id), turn, preemptive, tools=tools)
        self._responses[response_id] = response
        if not preemptive:
            self._stamp_tools(response, tools)

    def _stamp_tools(self, response: _Response, tools: _Tools) -> None:
        """Stamp the tools in the turn of the response about them, which begins now.

        If the caller heard the response that called them, only the tools and later stages count. The tools
        may have ended while its text was spoken.
        """
        if self._tools is tools:  # otherwise the response called other tools while it was held
            self._tools = None
        caller, turn = tools.response, response.turn
        heard = caller.ledger.has("first_frame")
        stamps: dict[Stamp, float] = {} if heard else dict(caller.turn.stamps)
        now_s = self._clock()
        done_s = now_s if tools.done_s is None else tools.done_s
        later_s = now_s - done_s if heard else 0.0
        stamps.setdefault("tool_called", tools.called_s + later_s)
        stamps["tools_done"] = done_s + later_s
        turn.stamps, turn.decision = stamps, None if heard else caller.turn.decision
        turn.end_code = "" if heard else caller.turn.end_code

    def _open(self, response_id: str, turn_id: str, preemptive: bool) -> None:
        turn = self._turn(turn_id)
        turn.count(preemptive_attempts=int(preemptive))
        if self._tools is not None:  # preemptive responses about results that were dropped for this one
            dropped, self._tools.counts = self._tools.counts, TurnCounts()
            turn.count(preemptive_attempts=dropped.preemptive_attempts, tokens_wasted=dropped.tokens_wasted)
        self._responses[response_id] = _Response(TurnLedger(turn_id), turn, preemptive)

    def _turn(self, turn_id: str) -> _Turn:
        if turn_id not in self._turns:
            self._turns[turn_id] = _Turn()
            while len(self._turns) > REMEMBERED_TURNS:
                self._turns.popitem(last=False)
        return self._turns[turn_id]
