"""vLLM's own scheduler under ours, without an engine: what each step computes."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from late_import import late
from scheduler_steps import BLOCK_TOKENS, PIECE_TOKENS, SLOTS, STEP_TOKENS, Steps, vllm_config

from llmcore.policies.background_prefill import GATHER_S, REST

pytestmark = pytest.mark.usefixtures("installed_vllm")
vllm_request = late("vllm.v1.request")

LONG, SHORT = 1000, 40  # tokens of prompts


@pytest.fixture(scope="module")
def config(scripted_model: Path) -> Any:
    return vllm_config(scripted_model, enable_prefix_caching=False)


@pytest.fixture
def paced(config: Any) -> Steps:
    """Return a scheduler of an engine with CUDA graphs, whose steps take 0.1 s."""
    with_graphs = copy(config)
    with_graphs.compilation_config = copy(config.compilation_config)
    with_graphs.compilation_config.cudagraph_capture_sizes = [STEP_TOKENS]
    made = Steps(with_graphs)
    made.step_s = 0.1
    return made


@pytest.fixture
def steps(config: Any) -> Callable[..., Steps]:
    return partial(Steps, config)


def test_a_long_prompt_is_read_in_pieces_although_it_is_alone(steps):
    alone = steps()
    alone.add("long", LONG, "long")
    assert [alone.step() for _ in range(2)] == [{"long": PIECE_TOKENS}] * 2


def test_replies_go_on_beside_it(steps):
    both = steps()
    both.add("reply", SHORT)
    both.step()
    both.add("long", LONG, "long")
    assert both.step() == {"reply": 1, "long": PIECE_TOKENS}


def test_a_step_with_a_callers_prompt_reads_none_that_yields(steps):
    both = steps()
    both.add("long", LONG, "long")
    both.step()
    both.add("caller", SHORT)
    assert both.step() == {"caller": SHORT}
    assert both.step() == {"caller": 1, "long": PIECE_TOKENS}


@pytest.mark.parametrize("priority_class", ["long", "preemptive", "prefill"])
def test_one_that_yields_is_not_begun_beside_a_callers_prompt(steps, priority_class):
    both = steps()
    both.add("yields", SHORT, priority_class)
    both.add("caller", SHORT)
    assert both.step() == {"caller": SHORT}
    assert both.step() == {"caller": 1, "yields": SHORT}


def test_a_callers_prompt_is_read_in_whole_steps(steps):
    alone = steps()
    alone.add("caller", LONG)
    assert [alone.step() for _ in range(2)] == [{"caller": STEP_TOKENS}, {"caller": LONG - STEP_TOKENS}]


def test_who_is_laid_aside_keeps_the_place(steps):
    full = steps()
    for number in range(SLOTS - 1):
        full.add(f"long {number}", LONG, "long")
    full.step()
    for number in range(SLOTS):
        full.add(f"caller {number}", SHORT)
    for _ in range(5):
        full.step()
        assert len(full.scheduler.running) <= SLOTS
    assert {request.request_id for request in full.scheduler.running} >= {"caller 0", "long 0"}


def test_where_no_place_is_left_for_callers_the_long_ones_go_on(steps):
    full = steps()
    for number in range(SLOTS):
        full.add(f"long {number}", PIECE_TOKENS * 2, "long")
        full.step()
    full.add("caller", SHORT)
    assert full.step()


def test_nobody_is_laid_aside_for_ever(steps, monkeypatch):
    monkeypatch.setattr("llmcore.engines.vllm_internals.scheduler.MAX_DEFERRED_STEPS", 5)
    busy = steps()
    busy.add("long", LONG, "long")
    busy.step()
    seen: set[str] = set()
    for number in range(10):
        busy.add(f"caller {number}", SHORT)
        seen |= busy.step().keys() & {"long"}
        busy.scheduler.finish_requests(f"caller {number}", vllm_request.RequestStatus.FINISHED_ABORTED)
    assert seen == {"long"}


def test_a_long_prompt_that_falls_behind_is_read_beside_callers(steps):
    busy = steps()
    busy.add("long", LONG, "long", reading_s=10.0)
    busy.step()
    read = PIECE_TOKENS
    for second in range(1, 11):
        busy.now_s = float(second)
        busy.add(f"caller {second}", SHORT)
        step = busy.step()
        assert step[f"caller {second}"] == SHORT
        late = read < LONG * second / 10
        assert ("long" in step) == late or read >= LONG
        read += step.get("long", 0)
        busy.scheduler.finish_requests(f"caller {second}", vllm_request.RequestStatus.FINISHED_ABORTED)
    assert read >= LONG


def test_beside_one_that_is_late_a_caller_has_room_in_the_step(steps):
    busy = steps()
    busy.add("long", LONG, "long", reading_s=1.0)
    busy.step()
    busy.now_s = 5.0
    busy.add("caller", STEP_TOKENS)
    assert busy.step() == {"long": PIECE_TOKENS, "caller": PIECE_TOKENS}


def test_in_a_full_cache_it_is_the_long_prompt_that_makes_room(steps):
    tight = steps(blocks=LONG // BLOCK_TOKENS + 4)
    tight.add("long", LONG, "long")
    for _ in range(LONG // PIECE_TOKENS):
        tight.step()
    tight.add("caller", SHORT * 3)
    for _ in range(60):
        tight.step()
    assert [request.request_id for request in tight.scheduler.running] == ["caller"]


def test_on_a_gpu_answers_are_written_between_two_pieces_of_a_long_prompt(paced):
    paced.add("reply", SHORT)
    paced.step()
    paced.add("long", LONG, "long", reading_s=100.0)
    assert paced.step() == {"reply": 1, "long": PIECE_TOKENS}
    paced.step_s = REST * 0.1 / 2.5
    assert [paced.step() for _ in range(3)] == [{"reply": 1}] * 3
    assert paced.step() == {"reply": 1, "long": PIECE_TOKENS}


def test_on_a_gpu_a_long_prompt_is_read_all_the_time_where_no_answer_is_written(paced):
    paced.add("long", LONG, "long")
    assert [paced.step() for _ in range(3)] == [{"long": PIECE_TOKENS}] * 3


def test_on_a_gpu_short_prompts_are_gathered_and_read_in_one_step(paced):
    paced.add("reply", SHORT)
    paced.step()
    paced.add("first", SHORT, "prefill")
    assert paced.step() == {"reply": 1, "first": SHORT}
    paced.scheduler.finish_requests("first", vllm_request.RequestStatus.FINISHED_ABORTED)
    paced.step_s = GATHER_S / 1.5
    for name in ("second", "third"):
        paced.add(name, SHORT, "prefill")
        assert paced.step() == {"reply": 1}
    assert paced.step().items() >= {"second": SHORT, "third": SHORT}.items()


def test_on_a_gpu_a_caller_waits_for_one_background_step_at_most(paced):
    """A step that is chosen while a background step is computed reads nothing in the background."""
    for name in ("long", "other"):
        paced.add(name, LONG, "long")
    computed = paced.scheduler.schedule()
    assert computed.total_num_scheduled_tokens == PIECE_TOKENS
    assert paced.scheduler.schedule().total_num_scheduled_tokens == 0
    paced.add("caller", SHORT)
    assert paced.scheduler.schedule().num_scheduled_tokens == {"caller": SHORT}


def test_on_a_gpu_a_prompt_that_falls_behind_is_read_without_rest(paced):
    paced.add("reply", SHORT)
    paced.step()
    paced.add("long", LONG, "long", reading_s=0.1)
    paced.step()
    assert paced.step() == {"reply": 1, "long": PIECE_TOKENS}
