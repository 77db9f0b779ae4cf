"""Reports: news for the caller from the application behind a call, each spoken once."""

from __future__ import annotations

from dataclasses import replace

from voiceagent.conversation.events import ReplyRequested, ResponseRequested
from voiceagent.conversation.response.phases import Response


class Reports:
    """The pending report, and the one that a response speaks of.

    The words themselves are in the history, so that one response covers all reports so far: the answer to a
    turn of the caller if one is due by then, else a response of its own.
    """

    def __init__(self) -> None:
        self._pending: ReplyRequested | None = None
        self._spoken: tuple[str, ReplyRequested] | None = None

    @property
    def pending(self) -> bool:
        """True if a report has not been spoken."""
        return self._pending is not None

    def request(self, report: ReplyRequested) -> None:
        """Queue a report, joined to the pending one, if any. One that is being spoken is not queued again,
        unless its guidance is empty: it is then about all that is new in the history.
        """
        spoken = "" if self._spoken is None else self._spoken[1].guidance
        if report.guidance and report.guidance in spoken:
            return
        pending = "" if self._pending is None else self._pending.guidance
        if report.guidance not in pending:
            pending = f"{pending}\n{report.guidance}".lstrip()
        self._pending = replace(report, guidance=pending)

    def own_request(self) -> ResponseRequested:
        """Return the request for a response that speaks of the report alone. Call it if one is pending.

        A response of words only is not shown the tools: with them in its prompt, a model of 0.5 B writes a
        call that it must not make, and the caller hears its brackets.
        """
        assert self._pending is not None
        tools = () if self._pending.words_only else None
        return ResponseRequested(guidance=self._pending.guidance, tools=tools)

    def add_to(self, answer: ResponseRequested) -> ResponseRequested:
        """Return the answer to a turn, with the pending report, if any. It may call tools."""
        return answer if self._pending is None else replace(answer, guidance=self._pending.guidance)

    def on_started(self, response_id: str) -> None:
        """Record the response that speaks of the pending report, if any."""
        if self._pending is not None:
            self._spoken, self._pending = (response_id, self._pending), None

    def on_response_over(self, response: Response, cut: bool, unheard: bool) -> None:
        """Queue the report again if its response was cut before any of it was played, or called a tool
        instead.
        """
        if self._spoken is None or self._spoken[0] != response.response_id:
            return
        report, self._spoken = self._spoken[1], None
        instead = report.words_only and response.tool_calls > 0
        if unheard and (cut or instead) and self._pending is None:
            self._pending = report

    def drop(self) -> None:
        """Drop the reports."""
        self._pending = self._spoken = None
