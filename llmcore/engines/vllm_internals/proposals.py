"""Runs in vLLM's own process, as a part of its scheduler: a draft proposes for some requests only.

vLLM speculates for all requests or for none. Here the tokens that a draft proposes are dropped for a request
that may have no more, and in a step where nobody wants any the draft is asked for none (`speculation`
makes that cost nothing), nor is the worker asked what was proposed. The step also says whether the draft
shall read what is read of prompts in it. Made for vLLM 0.32, which knows how to ask for none.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

from llmcore.engines.vllm_marks import (
    DRAFT_READS,
    UNREAD,
    marked,
    proposals_left,
    take_proposal,
    waits_for_draft,
)

if TYPE_CHECKING:
    from vllm.v1.core.sched.scheduler import Scheduler as _Base
else:
    _Base = object


class ProposesForSome(_Base):
    """Stands before a scheduler of vLLM's among the bases of ours. asks: whether the step that was chosen
    last shall propose anything.
    """

    asks = True

    def _update_after_schedule(self, scheduler_output: Any) -> None:
        """A step has been chosen: count what is verified in it, and say whether it shall propose anything."""
        for request_id in scheduler_output.scheduled_spec_decode_tokens:
            take_proposal(self.requests[request_id])
        chosen = [self.requests[request_id] for request_id in scheduler_output.num_scheduled_tokens]
        self.asks = not self._has_draft_model() or any(map(proposals_left, chosen))
        if not self.asks:
            scheduler_output.num_spec_tokens_to_schedule = 0
            reads = any(_draft_reads(request) for request in chosen)
            setattr(scheduler_output, DRAFT_READS, reads)
        super()._update_after_schedule(scheduler_output)
        for request in chosen:  # one that chooses a step ahead has made room for proposals here
            _drop_unwanted(request)

    def update_draft_token_ids(self, draft_token_ids: Any) -> None:
        """Tokens have been proposed for the next step."""
        super().update_draft_token_ids(draft_token_ids)
        for request_id in draft_token_ids.req_ids:
            if (request := self.requests.get(request_id)) is not None:
                _drop_unwanted(request)

    def _has_draft_model(self) -> bool:
        """Whether to ask for no proposals saves anything; suffix decoding cannot even be asked."""
        speculative = self.vllm_config.speculative_config
        return speculative is not None and (speculative.use_eagle() or speculative.uses_draft_model())


def fetch_if_asked(post_step: Callable[[Any, bool], None]) -> Callable[[Any, bool], None]:
    """`EngineCore.post_step`, which fetches the proposals from the worker, where there may be any.

    A message there and back is a part of the step that a small model on a CPU can feel.
    """

    @wraps(post_step)
    def post_step_if_asked(core: Any, model_executed: bool) -> None:
        if core.scheduler.asks:
            post_step(core, model_executed)

    return post_step_if_asked


def _draft_reads(request: Any) -> bool:
    """Whether the draft shall read what this step reads of a prompt."""
    reads = request.num_computed_tokens < request.num_prompt_tokens
    return reads and not marked(request, UNREAD) and not waits_for_draft(request)


def _drop_unwanted(request: Any) -> None:
    if not proposals_left(request):
        request.spec_token_ids = []
