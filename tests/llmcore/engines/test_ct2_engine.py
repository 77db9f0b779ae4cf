"""Features of CTranslate2 alone: kept prompt beginnings, few threads, a bounded queue."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from llmcore.engine import BusyError, Delta, LlmError, Message, Request, Tool, Usage
from llmcore.engines.ct2_engine import CTranslate2Llm
from llmcore.engines.ct2_reply import Ct2Reply

SYSTEM = Message("system", "You are the front desk of a small inn by the sea.")
GREETING = (Message("user", "Good evening."), Message("assistant", "Good evening, this is the front desk."))
HISTORY = (
    SYSTEM,
    *GREETING,
    Message("user", "Is there a room with a view, not too far from the stairs, and for two nights?"),
    Message(
        "assistant", "There is one on the second floor, and one on the third, both with a view of the sea."
    ),
)
QUESTION = Request((*HISTORY, Message("user", "How much is it a night")), max_tokens=24)
FOREVER = Request((SYSTEM, Message("user", "forever")), max_tokens=1500)


class OutOfMemory:
    """A reader that fails where a prompt is laid out: as Python has it, without a word."""

    @property
    def chat(self) -> Any:
        raise MemoryError


async def test_a_failure_without_words_is_told_by_its_name() -> None:
    reply = Ct2Reply(QUESTION, asyncio.get_running_loop())
    reply.run(OutOfMemory())  # type: ignore[arg-type]
    with pytest.raises(LlmError, match="the model failed: MemoryError"):
        await reply.next_piece()


@pytest.fixture
async def llm(random_model: Path) -> AsyncIterator[CTranslate2Llm]:
    """A model whose reply depends on the whole prompt."""
    engine = CTranslate2Llm(random_model / "int8")
    await engine.start()
    yield engine
    await engine.close()


@pytest.fixture
async def single(scripted_model: Path) -> AsyncIterator[CTranslate2Llm]:
    """One reply at a time, one may wait."""
    engine = CTranslate2Llm(scripted_model / "int8", max_running=1, max_waiting=1)
    await engine.start()
    yield engine
    await engine.close()


async def reply(llm: CTranslate2Llm, request: Request) -> tuple[str, Usage]:
    async with aclosing(llm.generate(request)) as deltas:
        parts = [delta async for delta in deltas]
    usage = parts[-1].usage
    assert usage is not None
    return "".join(part.text for part in parts), usage


async def idle(llm: CTranslate2Llm) -> None:
    """Wait for the thread of the last reply, which ends a moment after its last word."""
    while llm.running:  # noqa: ASYNC110 - no event reports it
        await asyncio.sleep(0.001)


async def fresh_reply(model: Path, request: Request) -> str:
    """The reply of an engine that keeps nothing."""
    engine = CTranslate2Llm(model / "int8", kept_tokens=0)
    await engine.start()
    text, usage = await reply(engine, request)
    assert usage.cached_tokens == 0
    await engine.close()
    return text


async def test_the_system_messages_are_kept_after_the_first_reply(
    llm: CTranslate2Llm, random_model: Path
) -> None:
    _, first = await reply(llm, QUESTION)
    text, second = await reply(llm, QUESTION)
    assert first.cached_tokens == 0
    assert len(SYSTEM.content.split()) < second.cached_tokens < second.prompt_tokens
    assert text == await fresh_reply(random_model, QUESTION)


async def test_other_instructions_are_another_prefix(llm: CTranslate2Llm, random_model: Path) -> None:
    await reply(llm, QUESTION)
    other = replace(QUESTION, messages=(Message("system", "You sell boats."), *QUESTION.messages[1:]))
    text, usage = await reply(llm, other)
    assert usage.cached_tokens == 0
    assert text == await fresh_reply(random_model, other)


async def test_prefill_while_speaking_leaves_only_the_newest_turn(
    llm: CTranslate2Llm, random_model: Path
) -> None:
    ahead = await llm.prefill(replace(QUESTION, messages=(*HISTORY, Message("user", "How much"))))
    assert ahead is not None
    assert ahead.cached_tokens == 0
    text, usage = await reply(llm, QUESTION)
    assert usage.cached_tokens == ahead.prompt_tokens
    assert usage.prompt_tokens - usage.cached_tokens < 30
    assert text == await fresh_reply(random_model, QUESTION)


async def test_prefill_while_speaking_again_computes_nothing(llm: CTranslate2Llm) -> None:
    first, second = [
        await llm.prefill(replace(QUESTION, messages=(*HISTORY, Message("user", words))))
        for words in ("How", "How much")
    ]
    assert first is not None
    assert second is not None
    assert (first.cached_tokens, second.cached_tokens) == (0, first.prompt_tokens)


async def test_a_history_that_has_hardly_grown_is_not_read_again(llm: CTranslate2Llm) -> None:
    await reply(llm, QUESTION)
    await idle(llm)
    kept = llm.kept_tokens
    ahead = await llm.prefill(replace(QUESTION, messages=(SYSTEM, *GREETING, Message("user", "Is there"))))
    assert ahead is not None
    assert 0 < ahead.cached_tokens < ahead.prompt_tokens
    assert llm.kept_tokens == kept


async def test_prefill_while_speaking_gives_way_when_a_reply_would_have_to_wait(
    single: CTranslate2Llm,
) -> None:
    async with aclosing(single.generate(FOREVER)) as deltas:
        await anext(deltas)
        with pytest.raises(BusyError):
            await single.prefill(QUESTION)


async def test_what_is_kept_stays_within_its_budget(random_model: Path) -> None:
    engine = CTranslate2Llm(random_model / "int8", kept_tokens=400)
    await engine.start()
    for number in range(20):
        system = Message("system", f"This is inn number {number}, by the sea.")
        await reply(engine, replace(QUESTION, messages=(system, *QUESTION.messages[1:])))
        assert engine.kept_tokens <= 400
    text, _ = await reply(engine, QUESTION)
    await engine.close()
    assert text == await fresh_reply(random_model, QUESTION)


async def test_the_system_messages_outlast_the_budget(random_model: Path) -> None:
    engine = CTranslate2Llm(random_model / "int8", kept_tokens=1_200)
    await engine.start()
    _, usage = await reply(engine, QUESTION)
    renewed, kept = 0, engine.kept_tokens
    for number in range(8):
        await idle(engine)
        history = (SYSTEM, Message("user", f"My number is {number}. " + "Is there a pool? " * 30))
        await engine.prefill(replace(QUESTION, messages=(*history, *GREETING, Message("user", "How"))))
        renewed, kept = renewed + (engine.kept_tokens < kept), engine.kept_tokens
        _, usage = await reply(engine, QUESTION)
        assert usage.cached_tokens > len(SYSTEM.content.split())
    assert renewed
    await engine.close()


async def test_a_real_request_overtakes_a_preemptive_one(scripted_model: Path) -> None:
    engine = CTranslate2Llm(scripted_model / "int8", max_running=1, max_waiting=2)
    await engine.start()
    order: list[str] = []

    async def run(name: str, priority: int) -> None:
        await reply(engine, Request((Message("user", "count"),), priority=priority))
        order.append(name)

    running = engine.generate(FOREVER)
    await anext(running)
    preemptive = asyncio.create_task(run("preemptive", 10))
    await asyncio.sleep(0)
    real = asyncio.create_task(run("real", 0))
    await asyncio.sleep(0)
    await running.aclose()
    await asyncio.gather(preemptive, real)
    assert order == ["real", "preemptive"]
    await engine.close()


async def test_one_request_too_many_is_refused_as_busy(single: CTranslate2Llm) -> None:
    running = single.generate(FOREVER)
    await anext(running)
    waiting = asyncio.create_task(reply(single, replace(FOREVER, max_tokens=3)))
    await asyncio.sleep(0)
    with pytest.raises(LlmError, match="busy"):
        await reply(single, FOREVER)
    await running.aclose()
    assert (await waiting)[0] == " tick tock tick"


async def test_closing_the_engine_ends_its_replies_with_an_error(single: CTranslate2Llm) -> None:
    running = single.generate(FOREVER)
    await anext(running)
    await single.close()
    with pytest.raises(LlmError, match="closed"):
        async for _ in running:
            pass


async def test_a_warm_reply_varies_and_a_cold_one_does_not(llm: CTranslate2Llm) -> None:
    warm = {(await reply(llm, replace(QUESTION, temperature=1.5)))[0] for _ in range(4)}
    cold = {(await reply(llm, QUESTION))[0] for _ in range(4)}
    assert len(warm) > 1
    assert len(cold) == 1


def changed(model: Path, folder: Path, file: str, change: Callable[[dict[str, Any]], None]) -> Path:
    """A copy of the model in the folder, with one of its files changed."""
    for each in (model / "int8").iterdir():
        (folder / each.name).write_bytes(each.read_bytes())
    content = json.loads((folder / file).read_text())
    change(content)
    (folder / file).write_text(json.dumps(content))
    return folder


async def opening_a_door(model: Path) -> list[Delta]:
    """Return the model's words and calls when it is asked to open a door."""
    engine = CTranslate2Llm(model)
    await engine.start()
    request = Request((Message("user", "open"),), tools=(Tool("open_door", ""),))
    async with aclosing(engine.generate(request)) as deltas:
        said = [delta async for delta in deltas]
    await engine.close()
    assert "".join(delta.text for delta in said) == "Right."
    assert [call.name for delta in said for call in delta.tool_calls] == ["open_door"]
    return said


async def test_a_tool_mark_that_is_a_special_token_is_seen(scripted_model: Path, tmp_path: Path) -> None:
    def make_special(tokenizer: dict[str, Any]) -> None:
        for token in tokenizer["added_tokens"]:
            token["special"] = token["special"] or token["content"] in ("<tool_call>", "</tool_call>")

    await opening_a_door(changed(scripted_model, tmp_path, "tokenizer.json", make_special))


async def test_a_model_that_calls_one_tool_in_a_reply_writes_nothing_behind_the_call(
    scripted_model: Path, tmp_path: Path
) -> None:
    def trained(config: dict[str, Any]) -> None:
        config["trained_for"] = {"instructions_sha256": "", "tools": [], "parallel_tool_calls": False}

    *_, whole = await opening_a_door(scripted_model / "int8")
    *_, ended = await opening_a_door(changed(scripted_model, tmp_path, "tokenizer_config.json", trained))
    assert whole.usage is not None
    assert ended.usage is not None
    assert ended.usage.completion_tokens < whole.usage.completion_tokens
    assert ended.finish_reason == whole.finish_reason == "tool_calls"


@pytest.mark.parametrize("missing", ["model.bin", "tokenizer.json", "tokenizer_config.json"])
async def test_a_missing_file_is_an_llm_error_that_names_it(
    scripted_model: Path, tmp_path: Path, missing: str
) -> None:
    for file in (scripted_model / "int8").iterdir():
        if file.name != missing:
            (tmp_path / file.name).symlink_to(file)
    with pytest.raises(LlmError, match=missing.replace(".", r"\.")):
        await CTranslate2Llm(tmp_path).start()


async def test_a_broken_model_is_an_llm_error(scripted_model: Path, tmp_path: Path) -> None:
    for file in (scripted_model / "int8").iterdir():
        (tmp_path / file.name).write_bytes(b"" if file.name == "model.bin" else file.read_bytes())
    with pytest.raises(LlmError, match=str(tmp_path)):
        await CTranslate2Llm(tmp_path).start()


@pytest.mark.parametrize(
    "option", [{"threads": 0}, {"max_running": 0}, {"max_waiting": -1}, {"tool_markup": "xml"}]
)
def test_an_option_out_of_range_is_refused_by_name(option: dict[str, object]) -> None:
    (name,) = option
    with pytest.raises(ValueError, match=name):
        CTranslate2Llm("nowhere", **option)  # type: ignore[arg-type] - wrong on purpose
