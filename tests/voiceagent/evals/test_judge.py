"""Judges: strict replies, evidence that is in the call, agreement."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator

import pytest

from llmcore.engine import Delta, Request, ServerError
from voiceagent.evals.judge import InvalidReply, Verdict, agreement, ask, parse
from voiceagent.evals.record import CallRecord, Said, ToolUse
from voiceagent.evals.runs import judged

CALL = CallRecord(
    (Said("caller", "I was charged twice."), Said("agent", "I am sorry to hear that. I'll look.")),
    (ToolUse("look_up", {"invoice": 7}, "found: two charges"),),
)
QUESTION = "Did the agent apologise?"


def reply(answer: object, evidence: object, **others: object) -> str:
    return json.dumps({"answer": answer, "evidence": evidence, **others})


class Judge:
    """A judge with prepared replies."""

    def __init__(self, *replies: str | Exception) -> None:
        self._replies = list(replies)
        self.requests: list[Request] = []

    async def start(self) -> None:
        """Do nothing."""

    async def close(self) -> None:
        """Do nothing."""

    async def prefill(self, request: Request) -> None:
        """Do nothing."""

    async def generate(self, request: Request) -> AsyncGenerator[Delta, None]:
        self.requests.append(request)
        answer = self._replies.pop(0)
        if isinstance(answer, Exception):
            raise answer
        yield Delta(answer)


@pytest.mark.parametrize(
    ("answer", "evidence"),
    [
        ("yes", "I am sorry"),
        ("yes", "i'm".replace("'m", " am") + " SORRY to hear that"),
        ("no", "charged twice"),
    ],
)
def test_a_quote_of_the_call_is_evidence(answer: str, evidence: str) -> None:
    assert parse(reply(answer, evidence), QUESTION, CALL) == Verdict(QUESTION, answer, evidence)  # type: ignore[arg-type]


def test_a_tools_result_can_be_quoted_and_a_no_needs_no_quote() -> None:
    assert parse(reply("yes", "two charges"), QUESTION, CALL).answer == "yes"
    assert parse(reply("no", ""), QUESTION, CALL).answer == "no"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Yes, it did.", "not one JSON object"),
        (f"```json\n{reply('yes', 'sorry')}\n```", "not one JSON object"),
        ("[]", "exactly the keys"),
        (reply("yes", "sorry", reason="polite"), "exactly the keys"),
        (reply("maybe", "sorry"), 'allowed: "yes", "no"'),
        (reply(True, "sorry"), 'allowed: "yes", "no"'),
        (reply("yes", ""), "allowed: a quote"),
        (reply("yes", "..."), "allowed: a quote"),
        (reply("yes", 3), "allowed: a quote"),
        (reply("yes", "I apologise"), "not in the transcript"),
        (reply("no", "I refuse"), "not in the transcript"),
        (reply("yes", "twice. I am sorry"), "not in the transcript"),
    ],
)
def test_other_replies_are_invalid(text: str, reason: str) -> None:
    with pytest.raises(InvalidReply, match=reason):
        parse(text, QUESTION, CALL)


async def test_an_invalid_reply_is_asked_for_again_and_named() -> None:
    judge = Judge(reply("yes", "I apologise"), reply("yes", "I am sorry"))
    assert (await ask(judge, QUESTION, CALL)).answer == "yes"
    assert "'I apologise' is not in the transcript" in judge.requests[1].messages[-1].content


async def test_a_verdict_without_a_valid_reply_is_discarded() -> None:
    verdict = await ask(Judge("yes", "yes"), QUESTION, CALL)
    assert verdict.answer is None
    assert "not one JSON object" in verdict.problem
    failed = await ask(Judge(ServerError("no connection")), QUESTION, CALL)
    assert (failed.answer, failed.problem) == (None, "the judge failed: no connection")


def test_a_run_passes_only_if_all_judges_say_yes() -> None:
    yes, no = Verdict("Q?", "yes", "a"), Verdict("Q?", "no", "b")
    lost = Verdict("Q?", None, problem="no JSON")
    assert judged([[yes], [yes]]) == []
    assert judged([]) == []
    reasons = [judged(pair)[0].reason for pair in ([[no]], [[yes], [no]], [[lost], [yes]])]
    assert reasons == ["judged no: Q? ('b')", "the judges disagree: Q? ('b')", "undecided: Q? (no JSON)"]


def test_agreement_counts_questions_with_two_answers() -> None:
    yes, no, lost = (Verdict("Q?", answer) for answer in ("yes", "no", None))
    same, both, kappa = agreement([(yes, yes), (no, no), (yes, no), (no, no), (lost, yes)])
    assert (same, both) == (3, 4)
    assert kappa == pytest.approx(0.5)
