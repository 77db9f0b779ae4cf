"""Judges: strict replies, the line that is the evidence, agreement."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator

import pytest

from llmcore.engine import Delta, Request, ServerError
from voiceagent.evals.judge import Answer, InvalidReply, Verdict, agreement, ask, parse
from voiceagent.evals.record import CallRecord, Said, ToolUse
from voiceagent.evals.runs import judged

CALL = CallRecord(
    (Said("caller", "I was charged twice."), Said("agent", "I am sorry to hear that. I'll look.")),
    (ToolUse("look_up", {"invoice": 7}, "found: two charges"),),
)
QUESTION = "Did the agent apologise?"


LINES = (
    "I was charged twice.",
    "I am sorry to hear that. I'll look.",
    'look_up({"invoice": 7}) -> found: two charges',
)


def reply(answer: object, line: object, **others: object) -> str:
    return json.dumps({"line": line, "answer": answer, **others})


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


@pytest.mark.parametrize(("answer", "line"), [("yes", 2), ("no", 1), ("yes", 3)])
def test_the_line_that_a_judge_names_is_the_evidence(answer: Answer, line: int) -> None:
    assert parse(reply(answer, line), QUESTION, CALL) == Verdict(QUESTION, answer, LINES[line - 1])


def test_a_no_needs_no_line() -> None:
    assert parse(reply("no", 0), QUESTION, CALL) == Verdict(QUESTION, "no", "")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Yes, it did.", "not one JSON object"),
        (f"```json\n{reply('yes', 2)}\n```", "not one JSON object"),
        ("[]", "exactly the keys"),
        (reply("yes", 2, reason="polite"), "exactly the keys"),
        (reply("maybe", 2), 'allowed: "yes", "no"'),
        (reply(True, 2), 'allowed: "yes", "no"'),
        (reply("yes", 0), "allowed for 'yes': 1 to 3"),
        (reply("yes", 4), "allowed for 'yes': 1 to 3"),
        (reply("no", -1), "allowed for 'no': 0 to 3"),
        (reply("yes", "I am sorry"), "allowed for 'yes': 1 to 3"),
        (reply("yes", True), "allowed for 'yes': 1 to 3"),
        (reply("yes", 1.0), "allowed for 'yes': 1 to 3"),
    ],
)
def test_other_replies_are_invalid(text: str, reason: str) -> None:
    with pytest.raises(InvalidReply, match=reason):
        parse(text, QUESTION, CALL)


async def test_an_invalid_reply_is_asked_for_again_and_named() -> None:
    judge = Judge(reply("yes", 9), reply("yes", 2))
    assert (await ask(judge, QUESTION, CALL)).evidence == LINES[1]
    assert "line is 9" in judge.requests[1].messages[-1].content


async def test_a_judge_reads_numbered_lines_the_tools_last() -> None:
    judge = Judge(reply("no", 0))
    await ask(judge, QUESTION, CALL)
    shown = judge.requests[0].messages[-1].content
    assert shown.splitlines()[:3] == [
        f"1. Caller: {LINES[0]}",
        f"2. Agent: {LINES[1]}",
        f"3. Tool: {LINES[2]}",
    ]


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
