"""Call through unmodified Semantic Kernel: semantic_kernel_caller.py ADDRESS websocket|webrtc.

A message is typed, a plugin's function is called, and the answer arrives. Prints the results as a line of
JSON.
"""

from __future__ import annotations

import asyncio
import json
import sys

import aioice.ice
from aiortc.mediastreams import AudioStreamTrack
from openai import AsyncOpenAI
from semantic_kernel import Kernel
from semantic_kernel.connectors.ai.function_choice_behavior import FunctionChoiceBehavior
from semantic_kernel.connectors.ai.open_ai import (
    OpenAIRealtimeExecutionSettings,
    OpenAIRealtimeWebRTC,
    OpenAIRealtimeWebsocket,
)
from semantic_kernel.contents import TextContent
from semantic_kernel.contents.realtime_events import RealtimeEvent, RealtimeTextEvent
from semantic_kernel.functions import kernel_function

# client and server are on one machine, which may have no network
aioice.ice.get_host_addresses = lambda use_ipv4, use_ipv6: ["127.0.0.1"]


class Weather:
    """The plugin."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    @kernel_function(name="tell", description="Tells the weather.")
    def tell(self, city: str) -> str:
        """Tell the weather of a city."""
        self.asked.append(city)
        return "sunny"


async def main(address: str, kind: str) -> None:
    """Call, and print the results."""
    plugin, kernel = Weather(), Kernel()
    kernel.add_plugin(plugin, "weather")
    client = AsyncOpenAI(api_key="none", base_url=f"http://{address}/v1")
    options = {"ai_model_id": "gpt-realtime", "client": client, "kernel": kernel}
    service = (
        OpenAIRealtimeWebRTC(audio_track=AudioStreamTrack(), **options)
        if kind == "webrtc"
        else OpenAIRealtimeWebsocket(**options)
    )
    settings = OpenAIRealtimeExecutionSettings(
        instructions="Be brief.", voice="alloy", function_choice_behavior=FunctionChoiceBehavior.Auto()
    )
    came = {"said": "", "errors": [], "asked": plugin.asked, "kinds": []}
    async with service(settings=settings, kernel=kernel):
        await service.send(RealtimeTextEvent(text=TextContent(text="What is the weather in Bonn?")))
        await service.send(RealtimeEvent(service_type="response.create"))
        async for event in service.receive():
            came["kinds"].append(event.service_type)
            if event.service_type == "error":
                came["errors"].append(str(event.service_event))
            if event.service_type == "response.output_audio_transcript.delta":
                came["said"] += event.text.text
            if event.service_type == "response.done" and came["said"]:
                break
    print(json.dumps(came))


asyncio.run(asyncio.wait_for(main(*sys.argv[1:]), 60))
