from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections import Counter
from collections.abc import AsyncGenerator

import pytest
from scripted_llm import ScriptedLlm

from llmcore.engine import Delta, LlmError, Request
from voiceagent.bench.gate.load import ALONE, BLOCK, Run, usage
from voiceagent.bench.gate.reference import Piece
from voiceagent.bench.material import ChatMessage, LabelledQuestion


class QuickReference:
    """Work that takes no time."""

    async def work(self, tokens: int = 4) -> Piece:
        now_s = time.monotonic()
        return Piece([now_s + number * 1e-6 for number in range(tokens + 1)], 1.0)


class YieldingLlm(ScriptedLlm):
    """Lets others run before each piece, and counts who is asked at once."""

    def __init__(self, *scripts: list[object]) -> None:
        super().__init__(*scripts)
        self.most = 0

    async def generate(self, request: Request) -> AsyncGenerator[Delta, None]:
        async for delta in super().generate(request):
            self.most = max(self.most, self.running)
            await asyncio.sleep(0.001)
            yield delta


def asked(count: int) -> list[LabelledQuestion]:
    return [
        LabelledQuestion(messages=(ChatMessage(role="user", content=f"Question number {n}?"),), must=("yes",))
        for n in range(count)
    ]


async def run(llm: ScriptedLlm, questions: list[LabelledQuestion], calls: int = 4) -> Run:
    run = Run(llm, QuickReference(), "You keep a shop.", calls)  # type: ignore[arg-type]
    await run.ask_all(questions)
    return run


async def test_every_question_is_answered_whole_and_once():
    questions = asked(2 * (BLOCK + ALONE) + 3)
    done = await run(YieldingLlm(["Yes", ", ", "we ", "are ", "open", "."]), questions)
    said = Counter(answered.labelled.messages[-1].content for answered in done.answers)
    assert said == Counter(labelled.messages[-1].content for labelled in questions)
    assert {answered.said for answered in done.answers} == {"Yes, we are open."}
    assert len(done.blocks) == 3


async def test_callers_ask_at_once_and_some_interrupt_a_response_first():
    llm = YieldingLlm(["Yes", ", ", "we ", "are ", "open", "."])
    done = await run(llm, asked(BLOCK + ALONE))
    assert llm.most > 1
    times = done.blocks[0].loaded
    assert len(times.response) == BLOCK < len(times.ttft)


async def test_prompts_are_read_while_callers_speak():
    llm = YieldingLlm(["Yes."])
    await run(llm, asked(BLOCK + ALONE))
    assert {request.priority_class for request in llm.prefills} == {"prefill"}
    assert llm.prefills[0].messages[-1].content == "Question"


async def test_the_reference_works_in_turn_with_both():
    block = (await run(YieldingLlm(["Yes."]), asked(BLOCK + ALONE))).blocks[0]
    assert len(block.alone_reference.response) == len(block.alone_cpu_s) == ALONE
    assert len(block.loaded_reference.response) == BLOCK
    assert len(block.stretch) == ALONE + BLOCK


async def test_an_engine_that_fails_ends_the_run():
    with pytest.raises(LlmError, match="broken"):
        await run(YieldingLlm(*[["Yes."]] * 10, [LlmError("broken")]), asked(BLOCK + ALONE))


def test_memory_of_a_child_counts_in():
    before = usage()
    code = "held = bytearray(b'x') * (64 << 20); print('held', flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None and child.stdout.readline() == b"held\n"
        within = usage()
        child.communicate(b"\n")
    assert within.memory_bytes - before.memory_bytes > 64 << 20
    assert within.cpu_s > before.cpu_s
