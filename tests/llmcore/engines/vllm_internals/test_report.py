"""The scheduler's report of its steps, and the next steps derived from it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from late_import import late
from scheduler_steps import BLOCK_TOKENS, PIECE_TOKENS, STEP_TOKENS, Steps, vllm_config

from llmcore.engine_load import STEP_BUCKETS_S, STEP_SIZES

pytestmark = pytest.mark.usefixtures("installed_vllm")
vllm_request = late("vllm.v1.request")

SHORT = 40  # tokens of a prompt


@pytest.fixture(scope="module")
def config(scripted_model: Path) -> Any:
    return vllm_config(scripted_model, max_step_ms=100.0)


@pytest.fixture
def steps(config: Any) -> Callable[..., Steps]:
    def made(blocks: int = 400) -> Steps:
        return Steps(config, blocks)

    return made


def bucket(bounds: tuple[float, ...], value: float) -> int:
    return sum(value > bound for bound in bounds)


def test_a_step_is_counted_with_its_time_its_tokens_and_its_replies(steps):
    few = steps()
    few.step_s = 0.04
    for name in ("one", "two"):
        few.add(name, SHORT)
    few.step()
    report = few.scheduler.report()
    for name, bounds, value in (
        ("step_s", STEP_BUCKETS_S, 0.04),
        ("tokens", STEP_SIZES, 2 * SHORT),
        ("sequences", STEP_SIZES, 2),
    ):
        *counts, total = report[name]
        assert counts[bucket(bounds, value)] == sum(counts) == 1
        assert total == pytest.approx(value)


def test_slow_steps_beside_a_reply_are_followed_by_smaller_ones(steps):
    busy = steps()
    busy.add("reply", SHORT)
    busy.step()
    busy.step_s = 0.2
    busy.add("caller", 1000)
    read = [busy.step()["caller"] for _ in range(3)]
    assert read[0] == STEP_TOKENS - 1
    assert read[0] > read[1] > read[2] >= PIECE_TOKENS - 1


def test_where_nobody_writes_a_prompt_is_read_in_whole_steps(steps):
    alone = steps()
    alone.step_s = 0.2
    alone.add("caller", 1000)
    assert alone.step() == {"caller": STEP_TOKENS}
    assert alone.step() == {"caller": 1000 - STEP_TOKENS}


def test_slow_replies_are_computed_fewer_at_once(steps):
    full = steps()
    full.step_s = 0.4
    for number in range(2):
        full.add(f"reply {number}", SHORT)
    for _ in range(8):
        full.step()
    full.add("caller", SHORT)
    assert "caller" not in full.step()
    full.scheduler.finish_requests(["reply 0", "reply 1"], vllm_request.RequestStatus.FINISHED_ABORTED)
    assert full.step() == {"caller": SHORT}


@pytest.mark.parametrize(("caller", "whose"), [("one", "own"), ("two", "other"), ("", "other")])
def test_whoever_takes_cached_blocks_of_another_is_counted(steps, caller, whose):
    blocks = 10
    small = steps(blocks)
    small.add("first", BLOCK_TOKENS * 6, caller="one")
    small.step()
    small.scheduler.finish_requests("first", vllm_request.RequestStatus.FINISHED_ABORTED)
    small.add("second", BLOCK_TOKENS * 6, "preemptive", caller=caller)
    small.step()
    assert [evicted[:3] for evicted in small.scheduler.report()["evicted"]] == [["turn", "preemptive", whose]]
