from __future__ import annotations

import asyncio
import shutil
import sys
from collections.abc import AsyncGenerator
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from people.offline import NoWords, quick_services

from audio.recognizers import Hypothesis, RecognizerError
from audio.synthesizers import Speech, SynthesizerError
from llmcore.engine import (
    Delta,
    LlmError,
    Message,
    Request,
    RequestError,
    ServerError,
    SetupError,
    ToolCall,
    Usage,
)
from voiceagent.config.tables import Config, load
from voiceagent.conversation.config import LlmEndConfig
from voiceagent.conversation.mcp import ListedTool
from voiceagent.demo.agent import FrontDesk
from voiceagent.engines.engines import Engines
from voiceagent.server.engine_building import build_engines
from voiceagent.server.startup import started
from voiceagent.server.warm_up import QUESTION, WarmUpError, warm_up
from voiceagent.telemetry.metrics import Metrics
from voiceagent.validation.errors import CommandFailed, ConfigError

FIXED = Path(__file__).parents[2] / "bench"


@pytest.fixture
def config(tmp_path: Path) -> Config:
    """The configuration with engines of fixed cost."""
    shutil.copy(FIXED / "fixed_engines.py", tmp_path / "started_engines.py")
    path = tmp_path / "started.toml"
    path.write_text((FIXED / "fixed.toml").read_text().replace("fixed_engines:", "started_engines:"))
    return load(path)


def watch_closing(engines: Engines) -> list[str]:
    closed: list[str] = []

    def watch(stage: str, engine: Any) -> None:
        async def close() -> None:
            closed.append(stage)

        engine.close = close

    for stage in ("recognizer", "llm", "synthesizer"):
        watch(stage, getattr(engines, stage))
    return closed


async def test_the_warm_up_tells_what_each_stage_took(config):
    async with started(config, build_engines(config), Metrics()) as (_, latency):
        assert set(latency) == {"recognition", "request", "llm_ttft", "fragmenting", "synthesis", "playout"}


async def test_once_a_server_is_ready_its_threads_take_turns_sooner(config: Config) -> None:
    sys.setswitchinterval(0.005)  # as Python has it
    async with started(config, build_engines(config), Metrics()):
        assert sys.getswitchinterval() == pytest.approx(0.0005)


async def test_a_recognizer_with_a_second_model_is_asked_for_second_opinions(config: Config) -> None:
    async with quick_services(config, NoWords()) as services:
        assert not services.hearing.second_opinions
    text = config.source.read_text()
    config.source.write_text(text.replace("[recognizer]\n", '[recognizer]\nsecond_model = "./model"\n'))
    async with quick_services(load(config.source), NoWords()) as services:
        assert services.hearing.second_opinions


async def test_engines_are_closed_in_the_end(config):
    engines = build_engines(config)
    closed = watch_closing(engines)
    async with started(config, engines, Metrics()):
        assert closed == []
    assert sorted(closed) == ["llm", "recognizer", "synthesizer"]


async def test_the_warm_up_asks_with_the_prompt_and_tools_of_an_agent_in_python(config, monkeypatch):
    agent = config.agent.model_copy(
        update={"instructions": "", "instructions_from": None, "python": "voiceagent.demo.agent:FrontDesk"}
    )
    config = config.model_copy(update={"agent": agent})
    engines = build_engines(config)
    asked = []
    generate = engines.llm.generate

    def watched(request: Request) -> AsyncGenerator[Delta, None]:
        asked.append(request)
        return generate(request)

    monkeypatch.setattr(engines.llm, "generate", watched)
    async with started(config, engines, Metrics()) as (services, _):
        assert asked[-1].messages[0] == Message("system", FrontDesk().prompt())
        assert {tool.name for tool in asked[-1].tools} == {tool.spec.tool.name for tool in FrontDesk.tools}
        assert services.settings.tools == ()


async def test_the_warm_up_waits_for_a_slow_llm_and_says_no_filler_instead(config, monkeypatch):
    async with started(config, build_engines(config), Metrics()) as (services, _):
        impatient = replace(services.speaking, filler=services.speaking.apology, filler_after_s=0.0)
        read = []

        async def generate(request: Request) -> AsyncGenerator[Delta, None]:
            await asyncio.sleep(0.3)
            read.append(request.messages[-1])
            yield Delta("I take orders.")
            yield Delta(finish_reason="stop", usage=Usage(9, 0, 4))

        monkeypatch.setattr(services.answering.llm, "generate", generate)
        latency = await warm_up(replace(services, speaking=impatient))
        assert read == [Message("user", QUESTION)]
        assert "llm_ttft" in latency


@pytest.mark.parametrize(("slow_s", "asked"), [(0.0, 3), (60.0, 1)])
async def test_the_warm_up_is_repeated_after_a_time_out_and_not_after_a_refusal(
    config, monkeypatch, slow_s, asked
):
    monkeypatch.setattr("voiceagent.server.warm_up.SLOW_S", slow_s)
    monkeypatch.setattr("voiceagent.server.warm_up.PAUSE_S", 0.0)
    async with started(config, build_engines(config), Metrics()) as (services, _):
        requests = []

        async def generate(request: Request) -> AsyncGenerator[Delta, None]:
            requests.append(request)
            if len(requests) < 3:
                raise LlmError("no first token within 5 s")
            yield Delta("I take orders.")
            yield Delta(finish_reason="stop", usage=Usage(9, 0, 4))

        monkeypatch.setattr(services.answering.llm, "generate", generate)
        with nullcontext() if asked == 3 else pytest.raises(WarmUpError, match="no first token"):
            await warm_up(services)
        assert len(requests) == asked


@pytest.mark.parametrize("times_out_first", [False, True])
@pytest.mark.parametrize("refusal", [SetupError("no such model"), RequestError("no such model")])
async def test_a_refusal_is_final_however_long_the_llm_took_for_it(
    config: Config, monkeypatch: pytest.MonkeyPatch, refusal: LlmError, times_out_first: bool
) -> None:
    monkeypatch.setattr("voiceagent.server.warm_up.SLOW_S", 0.0)  # whatever fails has been slow
    monkeypatch.setattr("voiceagent.server.warm_up.PAUSE_S", 0.0)
    async with started(config, build_engines(config), Metrics()) as (services, _):
        failures = [ServerError("no first token within 5 s")] * times_out_first + [refusal]
        requests = []

        async def generate(request: Request) -> AsyncGenerator[Delta, None]:
            requests.append(request)
            raise failures[min(len(requests), len(failures)) - 1]
            yield

        monkeypatch.setattr(services.answering.llm, "generate", generate)
        with pytest.raises(WarmUpError, match="no such model"):
            await warm_up(services, 20.0)
        assert len(requests) == len(failures)


async def test_a_refusal_is_final_however_long_the_question_took_to_speak(config, monkeypatch):
    monkeypatch.setattr("voiceagent.server.warm_up.SLOW_S", 0.5)
    async with started(config, build_engines(config), Metrics()) as (services, _):
        speak = services.speaking.synthesizer.speak
        requests = []

        async def slowly(text: str, *settings: Any) -> AsyncGenerator[Speech, None]:
            await asyncio.sleep(0.6)
            async for speech in speak(text, *settings):
                yield speech

        async def generate(request: Request) -> AsyncGenerator[Delta, None]:
            requests.append(request)
            raise LlmError("no such model")
            yield

        monkeypatch.setattr(services.speaking.synthesizer, "speak", slowly)
        monkeypatch.setattr(services.answering.llm, "generate", generate)
        with pytest.raises(WarmUpError, match="no such model"):
            await warm_up(services)
        assert len(requests) == 1


async def test_the_warm_up_runs_no_tool_of_an_mcp_server(config, monkeypatch):
    asked, called = [], []

    async def generate(request: Request) -> AsyncGenerator[Delta, None]:
        asked.append([tool.name for tool in request.tools])
        yield Delta(tool_calls=(ToolCall("call_1", "order", '{"what": "tea"}'),))
        yield Delta(finish_reason="tool_calls", usage=Usage(0, 0, 1))

    class Shop:
        def __init__(self, *_: object) -> None: ...
        async def list_tools(self) -> tuple[ListedTool, ...]:
            return (ListedTool("order", "Orders something."),)

        async def call(self, *what: object) -> str:
            called.append(what)
            return ""

        async def close(self) -> None: ...

    config.source.write_text(
        f'{config.source.read_text()}\n[[agent.mcp]]\nlabel = "shop"\ncommand = "shop"\n'
    )
    engines = build_engines(config)
    monkeypatch.setattr(engines.llm, "generate", generate)
    monkeypatch.setattr("voiceagent.mcp.connection.Connection", Shop)
    async with started(load(config.source), engines, Metrics()):
        assert (asked, called) == ([["order"]], [])


@pytest.mark.parametrize("calibrated", [True, False])
async def test_an_llm_that_will_be_asked_for_the_end_of_turns_is_asked_once_before_the_first(
    config, monkeypatch, calibrated
):
    end = LlmEndConfig(model="m", scale=1.0, offset=0.0) if calibrated else None
    config = config.model_copy(update={"turn": config.turn.model_copy(update={"llm_end": end})})
    engines = build_engines(config)
    asked = []
    prefill = engines.llm.prefill

    async def watched(request: Request) -> Usage | None:
        asked.append(request.asks_end)
        return await prefill(request)

    monkeypatch.setattr(engines.llm, "prefill", watched)
    async with started(config, engines, Metrics()):
        assert asked.count(True) == int(calibrated)


async def fail_to_generate(_: object) -> AsyncGenerator[Delta, None]:
    raise LlmError("the model is gone")
    yield Delta()


async def fail_to_recognize(_: object) -> AsyncGenerator[Hypothesis, None]:
    raise RecognizerError("no ears")
    yield Hypothesis("")


async def fail_to_speak(_: object) -> AsyncGenerator[Speech, None]:
    raise SynthesizerError("no voice")
    yield


@pytest.mark.parametrize(
    ("stage", "method", "broken", "said"),
    [
        ("llm", "generate", fail_to_generate, "the warm-up turn failed: llm: the model is gone"),
        ("recognizer", "recognize", fail_to_recognize, "the warm-up turn failed: recognizer: no ears"),
        ("synthesizer", "speak", fail_to_speak, "no voice"),
    ],
)
async def test_an_engine_that_starts_but_does_not_work_is_found_out(config, stage, method, broken, said):
    engines = build_engines(config)
    setattr(getattr(engines, stage), method, broken)
    closed = watch_closing(engines)
    with pytest.raises(CommandFailed, match=f"cannot start: {said}"):
        async with started(config, engines, Metrics()):
            pass
    assert sorted(closed) == ["llm", "recognizer", "synthesizer"]


async def test_a_mistake_about_mcp_servers_is_told_before_engines_start(config, tmp_path, monkeypatch):
    monkeypatch.delenv("NOT_SET", raising=False)
    path = tmp_path / "started.toml"
    server = '[[agent.mcp]]\nlabel = "crm"\nurl = "https://crm.example"\nheaders_env = {x = "NOT_SET"}\n'
    path.write_text(f"{path.read_text()}\n{server}")
    engines, started_stages = build_engines(load(path)), []
    closed = watch_closing(engines)

    async def start() -> None:
        started_stages.append("recognizer")

    engines.recognizer.start = start
    with pytest.raises(ConfigError, match="NOT_SET"):
        async with started(load(path), engines, Metrics()):
            pass
    assert not started_stages
    assert sorted(closed) == ["llm", "recognizer", "synthesizer"]
