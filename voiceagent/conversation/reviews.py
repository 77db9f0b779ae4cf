"""Reviews of spoken answers by the back LLM: which answers, and what follows from a verdict.

An answer is reviewed once its text is written, while the caller listens to it. The back LLM agrees, adds
something, which is said after the answer, or corrects it: the answer is stopped where it is, and the
correction is said. Without a verdict in time the answer stands. There is at most one review at a time.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from llmcore.policies.review import Verdict, read_verdict
from voiceagent.conversation import commands as do
from voiceagent.conversation import events as ev
from voiceagent.conversation.commands import Command
from voiceagent.conversation.response.current import CurrentResponse
from voiceagent.conversation.response.phases import Generating, Over, Playing, Response, Sent
from voiceagent.conversation.turn_policy import CurrentPolicy


@dataclass(slots=True)
class _Review:
    """The review of one answer. verdict: None until the back LLM has replied. is_over: the answer has been
    played or stopped. was_heard: the caller heard some of it.
    """

    response_id: str
    verdict: Verdict | None = None
    is_over: bool = False
    was_heard: bool = False


class Reviews:
    """The review in progress, if any. Methods return the commands that follow."""

    def __init__(self, policy: CurrentPolicy, responses: CurrentResponse) -> None:
        self._policy = policy
        self._responses = responses
        self._review: _Review | None = None
        self._last_id = ""  # the newest answer that was reviewed

    @property
    def pending(self) -> bool:
        """True if a verdict is awaited, or something must be said because of one."""
        return self._review is not None

    def advance(self, caller_silent: bool) -> list[Command]:
        """Start the review of the active answer, or stop the answer if it was contradicted. While the caller
        speaks nothing is stopped: a barge-in would do it, and needs no correction.
        """
        response, review = self._responses.active, self._review
        if response is None or self._policy.now.correction is None:
            return []
        if review is None or review.response_id != response.response_id:
            return self._start(response) if self._needs_review(response) else []
        if _has_failed(response):
            return self.drop()
        contradicted = review.verdict is not None and review.verdict.kind == "corrects"
        return self._responses.stop("correction") if contradicted and caller_silent else []

    def on_reviewed(self, event: ev.ResponseReviewed) -> list[Command]:
        """Handle the back LLM's reply, or its failure."""
        review = self._review
        if review is None or review.response_id != event.response_id:
            return []
        if event.reply is None:
            return self._conclude("failed")
        verdict = read_verdict(event.reply)
        if verdict is None:
            return self._conclude("unreadable")
        if verdict.kind == "agrees":
            return self._conclude("agreed")
        review.verdict = verdict
        return []

    def on_response_over(self, response: Response) -> list[Command]:
        """Record the end of the reviewed answer. If anything but a correction cut it, its review is over."""
        review = self._review
        if review is None or review.response_id != response.response_id:
            return []
        assert isinstance(response.phase, Over)
        if response.phase.interrupted_by not in ("", "correction"):
            return self.drop()
        review.is_over = True
        review.was_heard = bool(response.played.without_filler(response.phase.played))
        return []

    def pop_speech(self) -> tuple[str, list[Command]]:
        """Return the words that are due after the answer, "" for none, and conclude its review."""
        review = self._review
        if review is None or review.verdict is None or not review.is_over:
            return "", []
        text = review.verdict.text
        if review.verdict.kind == "adds":
            return text, self._conclude("added")
        if review.was_heard and self._policy.now.correction:
            text = f"{self._policy.now.correction} {text}"
        return text, self._conclude("corrected")

    def on_caller_input(self) -> list[Command]:
        """Drop the review of an answer that is over: the caller has moved on."""
        return self.drop() if self._review is not None and self._review.is_over else []

    def drop(self) -> list[Command]:
        """Drop the review, if any: the conversation has continued."""
        if self._review is None:
            return []
        cancel = [] if self._review.verdict is not None else [do.CancelReview(self._review.response_id)]
        return [*cancel, *self._conclude("dropped")]

    def _start(self, response: Response) -> list[Command]:
        """Start the review of an answer. It replaces that of an earlier one."""
        dropped = self.drop()
        self._last_id = response.response_id
        self._review = _Review(response.response_id)
        request = replace(response.start.request, tool_choice="none", stop=())
        said = (response.own_text or "").strip()
        return [*dropped, do.ReviewResponse(response.response_id, said, request)]

    def _needs_review(self, response: Response) -> bool:
        """Return True if the text of the answer is complete, written by the LLM, and can be withdrawn."""
        wanted = response.wanted
        from_llm = response.start.say == "" and not response.is_clip
        answers = from_llm and wanted.in_conversation and not response.tool_calls
        can_be_withdrawn = response.spoken and wanted.interruptible and not _has_failed(response)
        is_new = response.response_id != self._last_id
        return is_new and answers and can_be_withdrawn and bool((response.own_text or "").strip())

    def _conclude(self, outcome: do.ReviewOutcome) -> list[Command]:
        assert self._review is not None
        response_id, self._review = self._review.response_id, None
        return [do.ReviewConcluded(response_id, outcome)]


def _has_failed(response: Response) -> bool:
    phase = response.phase
    return isinstance(phase, Generating | Playing | Sent) and bool(phase.result.failure)
