from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from llmcore.engine_load import EngineLoad
from llmcore.policies.circuit_breaker import Backoff
from llmcore.policies.speculation import (
    FIRST_FRAGMENT,
    MIN_REPLIES,
    READS_BEFORE_S,
    TRIAL_PROPOSALS,
    Decision,
    ReplyTimes,
    Speculation,
    SpeculationLimits,
)

TOKENS = 4  # a proposal
WINDOW = 200
LIMITS = SpeculationLimits(
    min_acceptance=0.5, window=WINDOW, max_streams=8, min_tokens=10, retry=Backoff(60.0, 200.0)
)


class Draft:
    """Proposes for the policy, and counts as an engine does."""

    def __init__(self) -> None:
        self.policy = Speculation(LIMITS)
        self.load = EngineLoad(drafts=0, drafted=0, accepted=0)

    def propose(self, accepted: int, now_s: float = 0.0, times: int = 1) -> None:
        for _ in range(times):
            self.load = EngineLoad(
                drafts=(self.load.drafts or 0) + 1,
                drafted=(self.load.drafted or 0) + TOKENS,
                accepted=(self.load.accepted or 0) + accepted,
            )
            self.policy.observe(now_s, self.load)

    def reason(self, now_s: float = 0.0, streams: int = 1, max_tokens: int = 100) -> str:
        return self.policy.decide(now_s, streams, max_tokens).reason


def replies(draft: Draft, tokens: int) -> None:
    for _ in range(100):
        draft.policy.on_reply_done(0.0, Decision(0, "short"), ReplyTimes(tokens, 0.05, 0.01))


def compared(draft: Draft, ttft_s: float, token_s: float) -> None:
    """Replies of 100 tokens with the draft take so long; without it 50 ms, and 10 ms a token."""
    for _ in range(MIN_REPLIES):
        draft.policy.on_reply_done(0.0, Decision(None, "pays"), ReplyTimes(100, ttft_s, token_s))
        draft.policy.on_reply_done(0.0, Decision(0, "comparison"), ReplyTimes(100, 0.05, 0.01))


def cleared() -> Draft:
    draft = Draft()
    draft.propose(TOKENS, times=50)
    return draft


def left_out(at_s: float = 0.0) -> Draft:
    draft = Draft()
    draft.propose(0, now_s=at_s, times=50)
    return draft


def test_a_new_draft_is_on_trial_with_a_few_proposals_a_reply():
    decision = Draft().policy.decide(0.0, 1, 100)
    assert (decision.reason, decision.proposals) == ("trial", TRIAL_PROPOSALS)


def test_a_draft_that_is_right_is_used_without_limit():
    decision = cleared().policy.decide(0.0, 1, 100)
    assert (decision.reason, decision.proposals) == ("pays", None)


def test_a_draft_never_right_is_given_up_within_one_trial():
    draft = Draft()
    draft.propose(0, times=TRIAL_PROPOSALS)
    assert (draft.policy.state, draft.reason()) == ("off", "acceptance")
    assert draft.policy.decide(0.0, 1, 100).proposals == 0


def test_a_draft_nearly_always_right_is_cleared_within_one_trial():
    draft = Draft()
    for _ in range(TRIAL_PROPOSALS // 4):
        draft.propose(TOKENS, times=3)
        draft.propose(TOKENS - 1)
    draft.propose(TOKENS, times=2)
    assert draft.policy.state == "on"


def test_a_few_wrong_proposals_do_not_end_a_trial():
    draft = Draft()
    draft.propose(0, times=3)
    assert draft.reason() == "trial"


def test_one_just_under_the_limit_is_left_out_after_a_window():
    draft = Draft()
    for _ in range(WINDOW // 4):
        assert draft.policy.state == "trial"
        draft.propose(1)
        draft.propose(2, times=3)
    assert (draft.policy.state, draft.policy.acceptance) == ("off", 0.4375)


def test_a_draft_that_turns_bad_is_left_out_within_a_window():
    draft = cleared()
    draft.propose(0, times=WINDOW)
    assert draft.reason() == "acceptance"


def test_what_was_right_in_windows_before_does_not_excuse_it():
    draft = cleared()
    draft.propose(TOKENS, times=10 * WINDOW)
    draft.propose(0, times=2 * WINDOW)
    assert draft.policy.state == "off"


def test_each_failed_trial_doubles_the_wait_up_to_a_limit():
    draft, now_s = left_out(), 0.0
    for wait_s in (60.0, 120.0, 200.0, 200.0):
        assert draft.reason(now_s + wait_s - 0.1) == "acceptance"
        now_s += wait_s
        assert draft.reason(now_s) == "trial"
        draft.propose(0, now_s, times=TRIAL_PROPOSALS)
        assert draft.policy.state == "off"


def test_a_draft_that_was_bad_twice_does_not_read_prompts_for_later():
    draft = left_out()
    assert draft.policy.should_draft_read(1.0)
    draft.reason(60.0)
    draft.propose(0, 60.0, times=TRIAL_PROPOSALS)
    assert not draft.policy.should_draft_read(61.0)


def test_it_reads_again_shortly_before_its_next_trial_and_in_it():
    """Prefill ahead of the trial's first reply would be useless otherwise."""
    draft = left_out()
    draft.reason(60.0)
    draft.propose(0, 60.0, times=TRIAL_PROPOSALS)
    assert not draft.policy.should_draft_read(180.0 - READS_BEFORE_S - 0.1)
    assert draft.policy.should_draft_read(180.0 - READS_BEFORE_S)
    draft.reason(180.0)
    assert draft.policy.should_draft_read(180.0)
    draft.propose(TOKENS, 180.0, times=50)
    assert draft.policy.should_draft_read(190.0)


def test_after_a_trial_that_went_well_the_wait_is_short_again():
    draft = left_out()
    draft.reason(60.0)
    draft.propose(0, 60.0, times=20)
    draft.reason(180.0)
    draft.propose(TOKENS, 180.0, times=50)
    draft.propose(0, 200.0, times=WINDOW)
    assert draft.reason(259.9) == "acceptance"
    assert draft.reason(260.0) == "trial"


def test_begins_at_before_the_end_do_not_count_in_the_next_trial():
    draft = left_out()
    draft.propose(0, 1.0, times=100)
    assert draft.reason(60.0) == "trial"
    draft.propose(TOKENS, 60.0, times=50)
    assert draft.policy.state == "on"


def test_many_replies_at_once_fill_the_processor_without_it():
    draft = cleared()
    assert draft.reason(streams=8) == "pays"
    assert draft.reason(streams=9) == "streams"


def test_short_replies_are_not_worth_it():
    draft = cleared()
    assert draft.reason(max_tokens=9) == "short"
    replies(draft, tokens=5)
    assert draft.reason() == "short"
    replies(draft, tokens=50)
    assert draft.reason() == "pays"


def test_where_replies_are_short_it_does_not_read_either():
    draft = cleared()
    assert draft.policy.should_draft_read(0.0)
    replies(draft, tokens=5)
    assert not draft.policy.should_draft_read(0.0)


def test_the_first_words_of_a_reply_are_written_without_it():
    assert cleared().policy.decide(0.0, 1, 100).begins_at == FIRST_FRAGMENT


def test_some_replies_go_without_it_for_comparison():
    draft = cleared()
    reasons = [draft.reason() for _ in range(12)]
    assert reasons.count("comparison") == 4
    assert reasons.count("pays") == 8


def test_a_draft_that_is_right_but_costs_more_is_left_out():
    draft = cleared()
    compared(draft, ttft_s=0.05, token_s=0.02)
    assert draft.policy.acceptance == 1.0
    assert (draft.reason(), draft.policy.why_off) == ("cost", "cost")
    assert draft.reason(60.0) == "trial"


def test_a_draft_that_delays_the_first_token_is_left_out():
    draft = cleared()
    compared(draft, ttft_s=0.06, token_s=0.001)
    assert draft.policy.why_off == "cost"


def test_a_draft_with_which_replies_end_sooner_stays():
    draft = cleared()
    compared(draft, ttft_s=0.05, token_s=0.005)
    assert draft.policy.state == "on"


def test_an_engine_that_was_started_again_counts_from_nothing():
    draft = cleared()
    draft.load = EngineLoad(drafts=0, drafted=0, accepted=0)
    draft.propose(0, times=WINDOW)
    assert draft.policy.state == "off"


def test_an_engine_that_counts_nothing_leaves_the_draft_on_trial():
    policy = Speculation(LIMITS)
    policy.observe(0.0, EngineLoad())
    assert policy.state == "trial"
    assert policy.acceptance is None


@given(st.floats(0.7, 1.0), st.integers(0, 1000))
def test_a_good_draft_is_used_after_a_window_at_the_latest(right, seed):
    draft, random = Draft(), Random(seed)
    draft.propose(TOKENS)
    for _ in range(WINDOW):
        draft.propose(sum(random.random() < right for _ in range(TOKENS)))
    assert draft.policy.state == "on"


@given(st.floats(0.0, 0.3), st.integers(0, 1000))
def test_a_bad_draft_is_left_out_after_a_window_at_the_latest(right, seed):
    draft, random = Draft(), Random(seed)
    for _ in range(WINDOW):
        draft.propose(sum(random.random() < right for _ in range(TOKENS)))
    assert draft.policy.state == "off"
