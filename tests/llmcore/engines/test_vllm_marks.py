from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from llmcore.engine import FREE_DRAFT, DraftUse, Message, PriorityClass, Request
from llmcore.engines.vllm_marks import (
    UNREAD,
    YIELDS,
    behind_pace,
    marked,
    marks_of,
    proposals_left,
    take_proposal,
)


def in_vllm(draft: DraftUse = FREE_DRAFT, priority_class: PriorityClass = "turn") -> Any:
    """A request as vLLM's scheduler holds it, with its marks."""
    marks = marks_of(Request((Message("user", "hello?"),), priority_class=priority_class), draft)
    return SimpleNamespace(sampling_params=SimpleNamespace(extra_args=marks), num_output_tokens=0)


def test_only_a_turns_reply_does_not_yield():
    assert not marked(in_vllm(priority_class="turn"), YIELDS)
    assert marked(in_vllm(priority_class="prefill"), YIELDS)


@pytest.mark.parametrize(("read", "behind"), [(0, True), (249, True), (250, False), (1000, False)])
def test_a_quarter_of_its_time_on_a_quarter_of_a_long_prompt_is_read(read, behind):
    asked = Request((Message("user", "hello?"),), priority_class="long", reading_s=8.0)
    request = SimpleNamespace(
        sampling_params=SimpleNamespace(extra_args=marks_of(asked)),
        arrival_time=100.0,
        num_computed_tokens=read,
        num_prompt_tokens=1000,
    )
    assert behind_pace(request, 102.0) == behind


def test_what_is_read_for_later_may_be_late():
    assert not behind_pace(in_vllm(priority_class="prefill"), 1e9)


def test_a_prompt_that_the_draft_need_not_read_says_so():
    assert marked(in_vllm(DraftUse(0, reads=False)), UNREAD)
    assert not marked(in_vllm(DraftUse(0)), UNREAD)


def test_one_that_waits_for_its_first_tokens_has_none():
    request = in_vllm(DraftUse(begins_at=12))
    for written, left in ((0, False), (11, False), (12, True)):
        request.num_output_tokens = written
        assert proposals_left(request) == left


def test_proposals_are_counted_down_to_none():
    request = in_vllm(DraftUse(2))
    for left in (True, True, False, False):
        assert proposals_left(request) == left
        take_proposal(request)


@pytest.mark.parametrize(
    "request_",
    [in_vllm(), SimpleNamespace(sampling_params=SimpleNamespace(extra_args=None), num_output_tokens=0)],
)
def test_one_without_a_limit_may_always_have_more(request_):
    take_proposal(request_)
    assert proposals_left(request_)
