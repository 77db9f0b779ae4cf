"""Reports: what the application behind a call wants the caller to know, each told once."""

from __future__ import annotations

from dataclasses import replace

from voiceagent.conversation.events import ReplyRequested, ResponseRequested
from voiceagent.conversation.response.phases import Over, Response


class Reports:
    """The report that waits, the one that a response tells, and the one that the model had no words for.

    The words themselves are in the history, so that one response tells all that have come when it starts: the
    answer to a turn of the caller if one is due by then, else a response of its own.
    """

    def __init__(self) -> None:
        self._waiting: ReplyRequested | None = None
        self._told: tuple[str, ReplyRequested] | None = None
        self._untold: ReplyRequested | None = None

    @property
    def pending(self) -> bool:
        """True if a report waits to be told, or to be spoken as it is."""
        return self._waiting is not None or self._untold is not None

    @property
    def words(self) -> str:
        """The words of the report that the model failed to tell, to be spoken as they are; "" for none."""
        return "" if self._untold is None else self._untold.fallback

    def request(self, report: ReplyRequested) -> None:
        """Add a report to the one that waits, if any. Tell one that comes twice once, unless its guidance is
        empty: it is then about all that is new in the history.
        """
        told = "" if self._told is None else self._told[1].guidance
        if report.guidance and report.guidance in told:
            return
        if self._waiting is not None:
            report = _joined(self._waiting, report)
        self._waiting = report

    def alone(self) -> ResponseRequested:
        """Return the request for a response that only tells the report. Call it if one is waiting.

        One of words only is not shown the tools: with them in its prompt, a model of 0.5 B writes a call that
        it must not make, and the caller hears its brackets. The choice "none" too keeps it from repeating the
        call that is in the history.
        """
        assert self._waiting is not None
        wanted = self.joined(ResponseRequested())
        if not self._waiting.words_only:
            return wanted
        # the logs of earlier versions, which left the choice, have no fallback
        return replace(wanted, tools=(), tool_choice="none" if self._waiting.fallback else None)

    def joined(self, answer: ResponseRequested) -> ResponseRequested:
        """Return the answer to a turn that also tells the report, if one is waiting. It may call tools."""
        if self._waiting is None:
            return answer
        return replace(answer, guidance=self._waiting.guidance, has_fallback=bool(self._waiting.fallback))

    def on_started(self, response_id: str) -> None:
        """Record the response that tells the waiting report, if any."""
        if self._waiting is not None:
            self._told, self._waiting = (response_id, self._waiting), None

    def on_words_started(self, response_id: str) -> None:
        """Record the response that speaks `words`. If it fails too, they are not tried again."""
        assert self._untold is not None
        self._told, self._untold = (response_id, replace(self._untold, fallback="")), None

    def on_response_over(self, response: Response, cut: bool, heard: str) -> None:
        """Have the report told again if its response was cut before any of it was played, or called a tool
        instead of telling it; have its own words spoken if the response failed or had none. heard: the part
        of the response that was played.
        """
        if self._told is None or self._told[0] != response.response_id:
            return
        report, self._told = self._told[1], None
        assert isinstance(response.phase, Over)
        wordless = response.phase.failed or not any(map(str.isalnum, heard))
        if report.fallback and wordless and not (cut or response.tool_calls):
            self._untold = report
            return
        instead = report.words_only and response.tool_calls > 0
        if not heard and (cut or instead) and self._waiting is None:
            self._waiting = report

    def drop(self) -> None:
        """Drop the reports."""
        self._waiting = self._told = self._untold = None


def _joined(waiting: ReplyRequested, report: ReplyRequested) -> ReplyRequested:
    """Return a report that tells both, what they share once."""
    guidance, fallback = waiting.guidance, waiting.fallback
    if report.guidance not in guidance:
        guidance = f"{guidance}\n{report.guidance}".lstrip()
    if report.fallback not in fallback:
        fallback = f"{fallback} {report.fallback}".lstrip()
    return replace(report, guidance=guidance, fallback=fallback)
