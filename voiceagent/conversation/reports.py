"""Reports: news for the caller from the application behind a call, each spoken once."""

from __future__ import annotations

from dataclasses import replace

from voiceagent.conversation.events import ReplyRequested, ResponseRequested
from voiceagent.conversation.response.phases import Over, Response


class Reports:
    """The pending report, the one that a response speaks of, and the one that the model had no words for.

    The words themselves are in the history, so that one response covers all reports so far: the answer to a
    turn of the caller if one is due by then, else a response of its own.
    """

    def __init__(self) -> None:
        self._pending: ReplyRequested | None = None
        self._spoken: tuple[str, ReplyRequested] | None = None
        self._failed: ReplyRequested | None = None

    @property
    def pending(self) -> bool:
        """True if a report has not been spoken."""
        return self._pending is not None or self._failed is not None

    @property
    def words(self) -> str:
        """The words of the report that the model had none for, to be spoken as they are; "" for none."""
        return "" if self._failed is None else self._failed.fallback

    def request(self, report: ReplyRequested) -> None:
        """Queue a report, joined to the pending one, if any. One that is being spoken, or whose own words are
        about to be, is not queued again, unless its guidance is empty: it is then about all that is new in
        the history.
        """
        current = self._failed if self._spoken is None else self._spoken[1]
        if report.guidance and current is not None and report.guidance in current.guidance:
            return
        self._pending = report if self._pending is None else _joined(self._pending, report)

    def own_request(self) -> ResponseRequested:
        """Return the request for a response that speaks of the report alone. Call it if the model has not
        been asked yet.

        A response of words only is not shown the tools: with them in its prompt, a model of 0.5 B writes a
        call that it must not make, and the caller hears its brackets. The choice "none" keeps it from
        repeating the call that is in the history.
        """
        assert self._pending is not None
        wanted = self.add_to(ResponseRequested())
        if not self._pending.words_only:
            return wanted
        # the logs of earlier versions, which left the choice, have no fallback
        return replace(wanted, tools=(), tool_choice="none" if self._pending.fallback else None)

    def add_to(self, answer: ResponseRequested) -> ResponseRequested:
        """Return the answer to a turn, with the pending report, if any. It may call tools."""
        if self._pending is None:
            return answer
        guidance = f"{answer.guidance}\n{self._pending.guidance}".lstrip()
        return replace(answer, guidance=guidance, has_fallback=bool(self._pending.fallback))

    def on_started(self, response_id: str) -> None:
        """Record the response that speaks of the pending report, if any."""
        if self._pending is not None:
            self._spoken, self._pending = (response_id, self._pending), None

    def on_words_started(self, response_id: str) -> None:
        """Record the response that speaks `words`. If it fails too, they are not tried again."""
        assert self._failed is not None
        self._spoken, self._failed = (response_id, replace(self._failed, fallback="")), None

    def on_response_over(self, response: Response, cut: bool, heard: str) -> None:
        """Queue the report again if its response was cut before any of it was played, or called a tool
        instead; have its own words spoken if the response failed or had none. heard: the part of the response
        that was played.
        """
        if self._spoken is None or self._spoken[0] != response.response_id:
            return
        report, self._spoken = self._spoken[1], None
        assert isinstance(response.phase, Over)
        wordless = response.phase.failed or not any(map(str.isalnum, heard))
        if report.fallback and wordless and not (cut or response.tool_calls):
            self._failed = report
            return
        instead = report.words_only and response.tool_calls > 0
        if not heard and (cut or instead) and self._pending is None:
            self._pending = report

    def drop(self) -> None:
        self._pending = self._spoken = self._failed = None


def _joined(pending: ReplyRequested, report: ReplyRequested) -> ReplyRequested:
    """Return a report with the guidance and the fallback of both, what they share once."""
    guidance, fallback = pending.guidance, pending.fallback
    if report.guidance not in guidance:
        guidance = f"{guidance}\n{report.guidance}".lstrip()
    if report.fallback not in fallback:
        fallback = f"{fallback} {report.fallback}".lstrip()
    return replace(report, guidance=guidance, fallback=fallback)
