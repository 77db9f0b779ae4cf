"""Call through Pipecat's unmodified Live service: pipecat_live_caller.py ADDRESS SOUND, 24 kHz PCM.

A person speaks in a stored session, the backend calls a tool that takes a while, and the agent tells its
result. Prints what came as a line of JSON.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

from pipecat.adapters.schemas.function_schema import FunctionSchema
from pipecat.adapters.schemas.tools_schema import ToolsSchema
from pipecat.frames.frames import (
    EndFrame,
    ErrorFrame,
    InputAudioRawFrame,
    LLMRunFrame,
    SpeechOutputAudioRawFrame,
    TTSTextFrame,
)
from pipecat.pipeline.pipeline import Pipeline
from pipecat.pipeline.runner import PipelineRunner
from pipecat.pipeline.task import PipelineTask
from pipecat.processors.aggregators.llm_context import LLMContext
from pipecat.processors.aggregators.llm_response_universal import LLMContextAggregatorPair
from pipecat.processors.frame_processor import FrameProcessor
from pipecat.services.openai.live.llm import OpenAILiveLLMService
from pipecat.services.openai.responses.llm import OpenAIResponsesLLMSettings

FRAME = 960


class Sink(FrameProcessor):
    """Recorder of the frames that pass."""

    def __init__(self) -> None:
        super().__init__()
        self.came = {"errors": [], "said": "", "tools": [], "sound_bytes": 0, "delegations": []}
        self.told = asyncio.Event()

    async def process_frame(self, frame, direction) -> None:
        """Record a frame and pass it on."""
        await super().process_frame(frame, direction)
        match frame:
            case ErrorFrame():
                self.came["errors"].append(frame.error)
            case TTSTextFrame():
                self.came["said"] += frame.text
                if "sunny" in self.came["said"]:
                    self.told.set()
            case SpeechOutputAudioRawFrame():
                self.came["sound_bytes"] += len(frame.audio)
        await self.push_frame(frame, direction)


async def main(address: str, sound: bytes) -> None:
    """Call, and print what came."""
    backend = OpenAIResponsesLLMSettings(model="gpt-5", system_instruction="Look it up.")
    service = OpenAILiveLLMService(
        api_key="none",
        base_url=f"ws://{address}/v1/live/sessions",
        settings=OpenAILiveLLMService.Settings(store=True),
        delegation=OpenAILiveLLMService.ResponsesDelegation(settings=backend),
    )
    sink, started = Sink(), asyncio.Event()

    async def weather(params) -> None:
        sink.came["tools"].append(params.arguments)
        await asyncio.sleep(1.0)
        await params.result_callback({"weather": "sunny"})

    @service.event_handler("on_session_started")
    async def on_started(service, session) -> None:
        sink.came["session"] = session.id
        started.set()

    @service.event_handler("on_delegation_created")
    async def on_delegation(service, delegation) -> None:
        sink.came["delegations"].append(delegation.target)

    service.register_function("weather", weather)
    tool = FunctionSchema("weather", "Tells the weather.", {"city": {"type": "string"}}, ["city"])
    context = LLMContext([{"role": "system", "content": "Be brief."}], ToolsSchema([tool]))
    pair = LLMContextAggregatorPair(context)
    task = PipelineTask(Pipeline([pair.user(), service, sink, pair.assistant()]))
    running = asyncio.create_task(PipelineRunner(handle_sigint=False).run(task))
    await task.queue_frame(LLMRunFrame())
    await asyncio.wait_for(started.wait(), 20)
    sound += bytes(48_000 * 2)
    for at in range(0, len(sound) - FRAME + 1, FRAME):
        await task.queue_frame(InputAudioRawFrame(sound[at : at + FRAME], 24_000, 1))
        await asyncio.sleep(0.02)
    await asyncio.wait_for(sink.told.wait(), 20)
    await task.queue_frame(EndFrame())
    await running
    sink.came["messages"] = [
        [message["role"], message["content"]]
        for message in context.get_messages()
        if message["role"] == "user"
    ]
    print(json.dumps(sink.came))


asyncio.run(asyncio.wait_for(main(sys.argv[1], Path(sys.argv[2]).read_bytes()), 90))
