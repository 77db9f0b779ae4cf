"""Call through Pipecat's unmodified Realtime service: pipecat_caller.py ADDRESS SOUND, 24 kHz PCM.

The service calls a tool and speaks about its result. A voice interrupts, so the service truncates and answers
again. Prints the results as a line of JSON.
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
    InterruptionFrame,
    LLMRunFrame,
    TranscriptionFrame,
    TTSAudioRawFrame,
    TTSTextFrame,
)
from pipecat.pipeline.pipeline import Pipeline
from pipecat.pipeline.runner import PipelineRunner
from pipecat.pipeline.task import PipelineTask
from pipecat.processors.aggregators.llm_context import LLMContext
from pipecat.processors.aggregators.llm_response_universal import LLMContextAggregatorPair
from pipecat.processors.frame_processor import FrameProcessor
from pipecat.services.openai.realtime.llm import OpenAIRealtimeLLMService

FRAME = 960


class Sink(FrameProcessor):
    """Recorder of the frames that pass."""

    def __init__(self) -> None:
        super().__init__()
        self.came = {"errors": [], "heard": [], "said": "", "interruptions": 0, "tools": 0}
        self.sound = asyncio.Event()

    async def process_frame(self, frame, direction) -> None:
        """Record a frame and pass it on."""
        await super().process_frame(frame, direction)
        match frame:
            case ErrorFrame():
                self.came["errors"].append(frame.error)
            case TranscriptionFrame():
                self.came["heard"].append(frame.text)
            case TTSTextFrame():
                self.came["said"] += frame.text
            case InterruptionFrame():
                self.came["interruptions"] += 1
            case TTSAudioRawFrame():
                self.sound.set()
        await self.push_frame(frame, direction)


async def main(address: str, sound: bytes) -> None:
    """Call, and print the results."""
    service = OpenAIRealtimeLLMService(api_key="none", base_url=f"ws://{address}/v1/realtime")
    sink = Sink()

    async def weather(params) -> None:
        sink.came["tools"] += 1
        await params.result_callback({"weather": "sunny, " * 20})

    service.register_function("weather", weather)
    tool = FunctionSchema("weather", "Tells the weather.", {"city": {"type": "string"}}, ["city"])
    context = LLMContext([{"role": "user", "content": "What is the weather?"}], ToolsSchema([tool]))
    pair = LLMContextAggregatorPair(context)
    task = PipelineTask(Pipeline([pair.user(), service, sink, pair.assistant()]))
    running = asyncio.create_task(PipelineRunner(handle_sigint=False).run(task))
    await task.queue_frame(LLMRunFrame())
    await sink.sound.wait()
    await asyncio.sleep(0.5)
    sound += bytes(96_000)
    for at in range(0, len(sound) - FRAME + 1, FRAME):
        await task.queue_frame(InputAudioRawFrame(sound[at : at + FRAME], 24_000, 1))
        await asyncio.sleep(0.02)
    sink.sound.clear()
    await sink.sound.wait()
    await task.queue_frame(EndFrame())
    await running
    print(json.dumps(sink.came))


asyncio.run(asyncio.wait_for(main(sys.argv[1], Path(sys.argv[2]).read_bytes()), 90))
