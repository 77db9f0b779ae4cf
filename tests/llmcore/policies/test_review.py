"""Reviews of answers: the request, and the forms of a verdict."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmcore.engine import Message
from llmcore.policies.review import Verdict, read_verdict, review_messages, reviewed_prompt

PROMPT = (Message("system", "Be brief."), Message("user", "When is breakfast?"))


def test_request_continues_the_prompt_of_the_answer():
    messages = review_messages(PROMPT, "From six.")
    assert messages[:3] == (*PROMPT, Message("assistant", "From six."))
    assert messages[3].role == "user" and reviewed_prompt(messages) == PROMPT


@pytest.mark.parametrize(
    ("reply", "verdict"),
    [
        ("RIGHT", Verdict("agrees")),
        (" RIGHT.\n", Verdict("agrees")),
        ("WRONG: It is from seven.", Verdict("corrects", "It is from seven.")),
        ("WRONG:\nIt is from seven.\nSorry.", Verdict("corrects", "It is from seven.\nSorry.")),
        ("MORE: Dinner too.", Verdict("adds", "Dinner too.")),
    ],
)
def test_three_forms_are_verdicts(reply, verdict):
    assert read_verdict(reply) == verdict


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "WRONG",
        "WRONG: ",
        "MORE: ...",
        "right",
        "RIGHT, but late",
        "It is WRONG: no",
        "Wrong: no",
        "WRONG no",
    ],
)
def test_anything_else_is_no_verdict(reply):
    assert read_verdict(reply) is None


@given(st.text())
def test_words_for_the_caller_are_words_of_the_reply(reply):
    verdict = read_verdict(f"WRONG:{reply}")
    assert verdict is None or (verdict.kind == "corrects" and verdict.text == reply.strip())
