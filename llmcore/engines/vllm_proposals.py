"""Runs in vLLM's own process, as a part of its scheduler: a draft proposes for some requests only.

vLLM speculates for all requests or for none. Here the tokens that a draft proposes are dropped for a request
that may have no more, and in a step where nobody wants any the draft is asked for none (`vllm_speculation`
makes that cost nothing). Made for vLLM 0.32, which knows how to ask for none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from llmcore.engines.vllm_marks import proposals_left, take_proposal

if TYPE_CHECKING:
    from vllm.v1.core.sched.scheduler import Scheduler as _Base
else:
    _Base = object


class ProposesForSome(_Base):
    """Stands before a scheduler of vLLM's among the bases of ours."""

    def _update_after_schedule(self, scheduler_output: Any) -> None:
        """A step has been chosen: count what is verified in it, and say whether it shall propose anything."""
        for request_id in scheduler_output.scheduled_spec_decode_tokens:
            take_proposal(self.requests[request_id])
        chosen = [self.requests[request_id] for request_id in scheduler_output.num_scheduled_tokens]
        if self._has_draft_model() and not any(map(proposals_left, chosen)):
            scheduler_output.num_spec_tokens_to_schedule = 0
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


def _drop_unwanted(request: Any) -> None:
    if not proposals_left(request):
        request.spec_token_ids = []
