from __future__ import annotations

import pytest
from scripted_llm import ScriptedLlm

from voiceagent.bench.material import ChatMessage, LabelledQuestion
from voiceagent.bench.scoring import Answered, check_judge, judge, says, spoken, verdicts
from voiceagent.validation.errors import CommandFailed


def test_facts_are_compared_as_spoken_words():
    assert spoken("Check-out is at 11:00, for $30!") == "check out is at eleven for thirty dollars"
    assert says("It costs 120 dollars.", "one hundred and twenty")
    assert says("from 7 to 10:30", "ten thirty")
    assert not says("It is seventy.", "seven")


def test_one_alternative_of_a_fact_is_enough():
    assert says("It takes half an hour.", "thirty minutes|half an hour")


@pytest.mark.parametrize(
    ("answer", "missing", "forbidden"),
    [
        ("From 8 to 9.", (), ()),
        ("From eight.", ("nine",), ()),
        ("From eight to nine, but I don’t know.", (), ("don't know",)),
    ],
)
def test_an_answer_says_all_facts_and_nothing_forbidden(answer, missing, forbidden):
    verdict = judge(answer, ["eight", "nine"], ["don't know"])
    assert (verdict.missing, verdict.forbidden) == (missing, forbidden)
    assert verdict.right == (not missing and not forbidden)


ASKED = (
    ChatMessage(role="user", content="Hello."),
    ChatMessage(role="assistant", content="Good day."),
    ChatMessage(role="user", content="Are you open?"),
)
BY_RULE = LabelledQuestion(messages=ASKED, must=("until six",), must_not=("closed",))
OUTSIDE = LabelledQuestion(messages=ASKED, must=("don't know",), outside=True)
BY_CRITERION = LabelledQuestion(messages=ASKED, criterion="names the hours politely")


@pytest.mark.parametrize(
    ("said", "right"), [("Until six.", True), ("Yes.", False), ("Until six, then closed.", False)]
)
async def test_an_answer_must_say_its_facts_and_nothing_forbidden(said, right):
    assert (await verdicts([Answered(BY_RULE, said)], None))["right answers %"] == [right]


async def test_questions_outside_count_as_declined():
    judged = await verdicts([Answered(OUTSIDE, "I don't know."), Answered(BY_RULE, "Until six.")], None)
    assert judged == {"right answers %": [True], "rightly declined %": [True]}


@pytest.mark.parametrize(("word", "right"), [("Yes.", True), ("no", False), ("It is polite.", False)])
async def test_a_criterion_is_fulfilled_where_the_judge_says_yes(word, right):
    judged = await verdicts([Answered(BY_CRITERION, "Until six.")], ScriptedLlm([word]))
    assert judged["right answers %"] == [right]


async def test_the_judge_reads_the_conversation_the_answer_and_the_criterion():
    judge = ScriptedLlm(["yes"])
    await verdicts([Answered(BY_CRITERION, "Until six.")], judge)
    told = judge.requests[0].messages[-1].content
    for text in (
        "Caller: Are you open?",
        "Agent: Good day.",
        "Agent: Until six.",
        "names the hours politely",
    ):
        assert text in told


async def test_an_answer_that_breaks_a_rule_is_wrong_whatever_the_judge_says():
    both = BY_CRITERION.model_copy(update={"must": ("until six",)})
    judge = ScriptedLlm(["yes"])
    assert (await verdicts([Answered(both, "Maybe.")], judge))["right answers %"] == [False]
    assert judge.requests == []


def test_a_criterion_without_a_judge_is_refused():
    with pytest.raises(CommandFailed, match="1 questions have a criterion, of which an LLM judges: --judge"):
        check_judge([BY_RULE, BY_CRITERION], judged_by_llm=False)


def test_a_judge_without_a_criterion_is_refused():
    with pytest.raises(CommandFailed, match="no question has a criterion"):
        check_judge([BY_RULE], judged_by_llm=True)
