"""Judges: the answer, the line that is its evidence, agreement."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import pytest

from llmcore.engine import Delta, Request, ServerError
from voiceagent.evals.judge import InvalidReply, Verdict, agreement, ask, parse_answer, parse_line
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
    ("text", "answer"), [("yes", "yes"), ("No.", "no"), ("**Yes**", "yes"), ('"no"', "no"), ("YES!\n", "yes")]
)
def test_an_answer_is_one_word(text: str, answer: str) -> None:
    assert parse_answer(text) == answer


@pytest.mark.parametrize("text", ["", "maybe", "Yes, it did.", "yes no", "1", '{"answer": "yes"}'])
def test_other_answers_are_invalid(text: str) -> None:
    with pytest.raises(InvalidReply, match="allowed: yes, no"):
        parse_answer(text)


@pytest.mark.parametrize("text", ["2", "2.", "Line 2", "2. Agent: I am sorry to hear that."])
def test_a_line_is_named_by_its_number(text: str) -> None:
    assert parse_line(text, "yes", 3) == 2


@pytest.mark.parametrize("text", ["0", "4", "-1", "I am sorry", "", "2nd", "the line 2"])
def test_other_lines_are_invalid(text: str) -> None:
    with pytest.raises(InvalidReply, match="allowed for yes: 1 to 3"):
        parse_line(text, "yes", 3)


def test_a_no_needs_no_line() -> None:
    assert parse_line("0", "no", 3) == 0


@pytest.mark.parametrize(
    ("replies", "answer", "evidence"),
    [(("yes", "2"), "yes", LINES[1]), (("No.", "3"), "no", LINES[2]), (("no", "0"), "no", "")],
)
async def test_the_line_that_a_judge_names_is_the_evidence(
    replies: tuple[str, str], answer: str, evidence: str
) -> None:
    verdict = await ask(Judge(*replies), QUESTION, CALL)
    assert (verdict.answer, verdict.evidence) == (answer, evidence)


async def test_a_judge_answers_before_it_sees_the_numbers_of_the_lines() -> None:
    judge = Judge("no", "0")
    await ask(judge, QUESTION, CALL)
    answering, naming = (request.messages for request in judge.requests)
    lines = [f"Caller: {LINES[0]}", f"Agent: {LINES[1]}", f"Tool: {LINES[2]}"]
    assert answering[-1].content.splitlines() == [*lines, "", f"Question: {QUESTION}"]
    assert naming[: len(answering)] == answering
    numbered = [f"{number}. {line}" for number, line in enumerate(lines, 1)]
    assert naming[-1].content.splitlines()[1:4] == numbered


async def test_an_invalid_reply_is_asked_for_again_and_named() -> None:
    judge = Judge("perhaps", "yes", "9", "2")
    assert (await ask(judge, QUESTION, CALL)).evidence == LINES[1]
    assert "the answer is 'perhaps'" in judge.requests[1].messages[-1].content
    assert "the line is '9'" in judge.requests[3].messages[-1].content
    assert "perhaps" not in str(judge.requests[2].messages)


async def test_a_verdict_without_a_valid_reply_is_discarded() -> None:
    verdict = await ask(Judge("perhaps", "surely"), QUESTION, CALL)
    assert (verdict.answer, verdict.problem) == (None, "the answer is 'surely'; allowed: yes, no")
    lineless = await ask(Judge("yes", "0", "none"), QUESTION, CALL)
    assert (lineless.answer, lineless.problem) == (None, "the line is 'none'; allowed for yes: 1 to 3")
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
