"""Features of vLLM alone: the prefix cache, priorities, refused settings, and recovery."""

from __future__ import annotations

import asyncio
import os
from contextlib import aclosing
from pathlib import Path

import psutil
import pytest

from llmcore.engine import Delta, LlmError, Message, Request
from llmcore.engines.vllm_engine import VllmLlm
from llmcore.policies.hang_detection import HangLimits

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(300)]

BLOCK_TOKENS = 32  # what VllmSettings chooses on a CPU
SYSTEM = Message("system", "You keep the lighthouse, and you know all ships. ")


def told(facts: str, *turns: Message, **options: int) -> Request:
    return Request((Message("system", SYSTEM.content + facts), *turns), **options)


async def read(llm: VllmLlm, request: Request) -> list[Delta]:
    async with aclosing(llm.generate(request)) as deltas:
        return [delta async for delta in deltas]


async def cached_tokens(llm: VllmLlm, request: Request) -> int:
    usage = (await read(llm, request))[-1].usage
    assert usage is not None
    return usage.cached_tokens


async def test_a_second_question_finds_the_system_message_in_the_cache(vllm: VllmLlm) -> None:
    facts = "Breakfast is at seven."
    first = await cached_tokens(vllm, told(facts, Message("user", "count")))
    second = await cached_tokens(vllm, told(facts, Message("user", "spell")))
    assert second > first
    assert second % BLOCK_TOKENS == 0


async def test_prefill_while_speaking_puts_the_unfinished_question_into_the_cache(vllm: VllmLlm) -> None:
    history = (Message("user", "May I bring a dog?"), Message("assistant", "You may, it costs ten a night."))
    spoken = "I would like to know whether that is for the whole stay or for a single night, and"
    ahead = await vllm.prefill(told("Dogs are welcome.", *history, Message("user", spoken)))
    assert ahead is not None
    cached = await cached_tokens(
        vllm, told("Dogs are welcome.", *history, Message("user", spoken + " count"))
    )
    assert cached == ahead.prompt_tokens // BLOCK_TOKENS * BLOCK_TOKENS
    assert cached > ahead.cached_tokens


async def test_the_urgent_overtake_those_who_wait(vllm: VllmLlm) -> None:
    order: list[str] = []

    async def run(name: str, priority: int) -> None:
        await read(vllm, told("", Message("user", "count"), priority=priority))
        order.append(name)

    running = [vllm.generate(told("", Message("user", "forever"), max_tokens=400)) for _ in range(4)]
    for deltas in running:
        await anext(deltas)
    preemptive = asyncio.create_task(run("preemptive", 10))
    while vllm.running < 5:  # noqa: ASYNC110 - the engine tells nobody that it has taken a request
        await asyncio.sleep(0.001)
    real = asyncio.create_task(run("real", 0))
    while vllm.running < 6:  # noqa: ASYNC110
        await asyncio.sleep(0.001)
    await running[0].aclose()
    await asyncio.gather(preemptive, real)
    for deltas in running[1:]:
        await deltas.aclose()
    assert order == ["real", "preemptive"]


@pytest.mark.parametrize(
    ("setting", "named"),
    [
        ({"quantization": "nonsense"}, "nonsense"),
        ({"max_model_len": 1_000_000}, "1000000"),
        ({"engine_args": {"no_such_argument": 1}}, "no_such_argument"),
        ({"speculative": {"method": "draft_model"}}, "speculative"),
    ],
)
async def test_a_setting_that_cannot_be_is_refused_at_the_start(
    vllm: VllmLlm, scripted_model: Path, setting: dict[str, object], named: str
) -> None:
    with pytest.raises(LlmError, match=named):
        await VllmLlm(str(scripted_model), **setting).start()  # type: ignore[arg-type] - wrong on purpose


async def test_a_missing_model_is_an_llm_error_with_the_way_out(
    vllm: VllmLlm, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(LlmError) as caught:
        await VllmLlm("nobody/nothing").start()
    for part in ("nobody/nothing", str(tmp_path), "HF_HUB_OFFLINE", "hf download"):
        assert part in str(caught.value)


async def test_threads_that_are_counted_are_tied_to_no_core(speculating_vllm: VllmLlm) -> None:
    assert speculating_vllm.threads is not None
    (core,) = speculating_vllm.process.current.engine.engine_core.resources.engine_manager.processes
    workers = psutil.Process(core.pid).children(recursive=True)
    assert all(set(worker.cpu_affinity()) == os.sched_getaffinity(0) for worker in workers)


async def test_a_started_engine_preloads_nothing_into_other_processes(vllm: VllmLlm) -> None:
    assert "torch" not in os.environ.get("LD_PRELOAD", "")


async def test_an_engine_that_is_killed_says_so_and_comes_back(vllm: VllmLlm) -> None:
    (core_process,) = vllm.process.current.engine.engine_core.resources.engine_manager.processes
    core = psutil.Process(core_process.pid)
    workers = core.children(recursive=True)
    deltas = vllm.generate(told("", Message("user", "forever"), max_tokens=400))
    await anext(deltas)
    core.kill()
    with pytest.raises(LlmError, match="died"):
        async for _ in deltas:
            pass
    with pytest.raises(LlmError, match="started again"):
        await read(vllm, told("", Message("user", "count")))
    while not (reply := await answer_or_none(vllm)):  # noqa: ASYNC110 - nobody tells when it is back
        await asyncio.sleep(0.5)
    assert reply == " one two three four five"
    assert not any(worker.is_running() and worker.status() != psutil.STATUS_ZOMBIE for worker in workers)


@pytest.mark.timeout(900)  # with both starts, of which each takes minutes on a machine that has other work
@pytest.mark.skipif("VOICEAGENT_LONG_TESTS" not in os.environ, reason="starts vLLM once more")
async def test_an_engine_that_hangs_is_killed_and_comes_back(
    vllm: VllmLlm, monkeypatch: pytest.MonkeyPatch
) -> None:
    (core_process,) = vllm.process.current.engine.engine_core.resources.engine_manager.processes
    psutil.Process(core_process.pid).suspend()
    with monkeypatch.context() as limit:  # not for the next engine: one that has just started may be slow
        limit.setattr("llmcore.engines.vllm_process.HANG_LIMITS", HangLimits(idle_s=2.0))
        deltas = vllm.generate(told("", Message("user", "forever"), max_tokens=400))
        with pytest.raises(LlmError, match="died"):
            async for _ in deltas:
                pass
    while not (reply := await answer_or_none(vllm)):  # noqa: ASYNC110 - nobody tells when it is back
        await asyncio.sleep(0.5)
    assert reply == " one two three four five"


async def answer_or_none(llm: VllmLlm) -> str | None:
    try:
        return "".join(delta.text for delta in await read(llm, told("", Message("user", "count"))))
    except LlmError:
        return None
