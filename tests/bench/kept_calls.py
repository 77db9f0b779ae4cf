"""Real calls, kept, that replay: `python tests/bench/kept_calls.py FOLDER [SECONDS]`.

Callers of `voiceagent bench calls` over all three protocols, who interrupt and hang up; callers of the
OpenAI SDK whose agent has tools, half of whom vanish in the middle of a response; and others whose LLM is
killed while it answers. Then another process runs all of the calls again.
"""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import sys
from pathlib import Path

from openai.types.realtime import (
    RealtimeConversationItemFunctionCallOutputParam,
    RealtimeConversationItemUserMessageParam,
)

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
sys.path.insert(0, str(ROOT / "tests/e2e"))

from sdk_caller import calling  # noqa: E402
from served import served  # noqa: E402
from test_engine_death import ChatServer, ask  # type: ignore[import-not-found]  # noqa: E402

CALLS = {"realtime": 35, "twilio": 35, "webrtc": 20}
SDK_CALLS = 32
TOOL = {"type": "function", "name": "weather", "parameters": {"type": "object"}}
VOICEAGENT = [sys.executable, "-c", "import sys; from voiceagent.cli.main import main; sys.exit(main())"]


def write_config(folder: Path, llm: str = "") -> Path:
    """Engines of fixed cost, or another LLM; calls are kept."""
    for engines in ("tests/bench/fixed_engines.py", "tests/e2e/tool_engine.py"):
        shutil.copy(ROOT / engines, folder)
    text = (ROOT / "tests/bench/fixed.toml").read_text()
    if llm:
        before, after = text.split("[llm]")
        text = f"{before}[llm]\n{llm}\n[synthesizer]{after.split('[synthesizer]')[1]}"
    path = folder / "kept.toml"
    path.write_text(f'[server]\nmax_calls = 100\n[calls]\nfolder = "./kept"\n{text}')
    return path


def bench(config: Path, seconds: float) -> None:
    """Callers over each protocol."""
    for over, calls in CALLS.items():
        options = ["--calls", str(calls), "--seconds", str(seconds), "--over", over, "--json"]
        material = ["--voice", str(ROOT / "configs/demo.toml")]
        command = [*VOICEAGENT, "bench", "calls", "--config", str(config), *material, *options]
        subprocess.run(command, check=True, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


async def use_tools(address: str, number: int) -> None:
    """Ask, answer the tool's call, and hang up; every other caller vanishes in the middle of the answer."""
    async with calling(address, tools=[TOOL]) as caller:
        question = RealtimeConversationItemUserMessageParam(
            type="message", role="user", content=[{"type": "input_text", "text": "What is the weather?"}]
        )
        await caller.connection.conversation.item.create(item=question)
        await caller.connection.response.create()
        called = await caller.until("response.function_call_arguments.done")
        await caller.until("response.done")
        output = RealtimeConversationItemFunctionCallOutputParam(
            type="function_call_output", call_id=called["call_id"], output="sunny " * 20
        )
        await caller.connection.conversation.item.create(item=output)
        await caller.connection.response.create()
        if number % 2:
            await caller.until("response.output_audio.delta", 5)
            caller.vanish()
        else:
            await caller.until("response.done", 2)


async def lose_the_engine(address: str, server: ChatServer) -> None:
    """All callers ask, and the LLM is killed while it answers; they ask again when it is back."""
    async with asyncio.TaskGroup() as group:
        lost = asyncio.Barrier(SDK_CALLS + 1)

        async def call() -> None:
            async with calling(address) as caller:
                asked = asyncio.create_task(ask(caller))
                await caller.until("response.output_audio_transcript.delta")
                await lost.wait()
                await asked
                await ask(caller)

        for _ in range(SDK_CALLS):
            group.create_task(call())
        await lost.wait()
        await server.kill()
        await server.start()


async def sdk_calls(folder: Path) -> None:
    """Callers of the SDK: tools, and an engine that dies."""
    async with served(write_config(folder, 'engine = "tool_engine:ToolLlm"')) as address:
        await asyncio.gather(*(use_tools(address, number) for number in range(SDK_CALLS)))
    server = ChatServer()
    await server.start()
    try:
        url = f"http://127.0.0.1:{server.port}/v1"
        llm = f'engine = "openai"\nmodel = "m"\nbase_url = "{url}"\napi_key_env = ""\nretries = 0'
        async with served(write_config(folder, llm)) as address:
            await lose_the_engine(address, server)
    finally:
        await server.kill()


def main() -> int:
    """All calls, and the replay."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True)
    asyncio.run(sdk_calls(folder))
    bench(write_config(folder), float(sys.argv[2]) if len(sys.argv) > 2 else 50.0)
    subprocess.run([*VOICEAGENT, "calls", "list", "--config", str(folder / "kept.toml")], check=True)
    return subprocess.run([*VOICEAGENT, "replay", "--all", str(folder)], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
