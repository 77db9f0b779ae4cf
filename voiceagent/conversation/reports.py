"""Reports: what the application behind a call wants the caller to know, each told once."""

from __future__ import annotations

from dataclasses import replace

from voiceagent.conversation.events import ReplyRequested, ResponseRequested
from voiceagent.conversation.response.phases import Response


class Reports:
    """The report that waits, and the one that a response tells.

    The words themselves are in the history, so that one response tells all that have come when it starts: the
    answer to a turn of the caller if one is due by then, else a response of its own.
    """

    def __init__(self) -> None:
        self._waiting: ReplyRequested | None = None
        self._told: tuple[str, ReplyRequested] | None = None

    @property
    def pending(self) -> bool:
        """True if a report waits to be told."""
        return self._waiting is not None

    def request(self, report: ReplyRequested) -> None:
        """Add a report to the one that waits, if any. Tell one that comes twice once, unless its guidance is
        empty: it is then about all that is new in the history.
        """
        told = "" if self._told is None else self._told[1].guidance
        if report.guidance and report.guidance in told:
            return
        waiting = "" if self._waiting is None else self._waiting.guidance
        if report.guidance not in waiting:
            waiting = f"{waiting}\n{report.guidance}".lstrip()
        self._waiting = replace(report, guidance=waiting)

    def alone(self) -> ResponseRequested:
        """Return the request for a response that only tells the report. Call it if one is pending.

        One of words only is not shown the tools: with them in its prompt, a model of 0.5 B writes a call that
        it must not make, and the caller hears its brackets.
        """
        assert self._waiting is not None
        tools = () if self._waiting.words_only else None
        return ResponseRequested(guidance=self._waiting.guidance, tools=tools)

    def joined(self, answer: ResponseRequested) -> ResponseRequested:
        """Return the answer to a turn that also tells the report, if one is pending. It may call tools."""
        return answer if self._waiting is None else replace(answer, guidance=self._waiting.guidance)

    def on_started(self, response_id: str) -> None:
        """Record the response that tells the pending report, if any."""
        if self._waiting is not None:
            self._told, self._waiting = (response_id, self._waiting), None

    def on_response_over(self, response: Response, cut: bool, unheard: bool) -> None:
        """Have the report told again if its response was cut before any of it was played, or called a tool
        instead of telling it.
        """
        if self._told is None or self._told[0] != response.response_id:
            return
        report, self._told = self._told[1], None
        instead = report.words_only and response.tool_calls > 0
        if unheard and (cut or instead) and self._waiting is None:
            self._waiting = report

    def drop(self) -> None:
        """Drop the reports."""
        self._waiting = self._told = None
