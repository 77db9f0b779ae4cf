"""The shop of README in Pipecat: python shop_pipecat.py"""

import os

from pipecat.audio.vad.silero import SileroVADAnalyzer
from pipecat.frames.frames import EndWorkerFrame, TTSSpeakFrame
from pipecat.pipeline.pipeline import Pipeline
from pipecat.pipeline.worker import PipelineParams, PipelineWorker
from pipecat.processors.aggregators.llm_context import LLMContext
from pipecat.processors.aggregators.llm_response_universal import (
    LLMContextAggregatorPair,
    LLMUserAggregatorParams,
)
from pipecat.runner.types import RunnerArguments
from pipecat.runner.utils import create_transport
from pipecat.services.cartesia.tts import CartesiaTTSService
from pipecat.services.deepgram.stt import DeepgramSTTService
from pipecat.services.llm_service import FunctionCallParams
from pipecat.services.openai.llm import OpenAILLMService
from pipecat.transports.base_transport import TransportParams
from pipecat.transports.websocket.fastapi import FastAPIWebsocketParams
from pipecat.workers.runner import WorkerRunner

TRANSPORTS = {
    "twilio": lambda: FastAPIWebsocketParams(audio_in_enabled=True, audio_out_enabled=True),
    "webrtc": lambda: TransportParams(audio_in_enabled=True, audio_out_enabled=True),
}
LLM = OpenAILLMService.Settings(model="gpt-4.1-mini")
VOICE = CartesiaTTSService.Settings(voice=os.environ.get("CARTESIA_VOICE"))


async def bot(runner_args: RunnerArguments) -> None:
    transport = await create_transport(runner_args, TRANSPORTS)
    order: list[str] = []

    async def add(params: FunctionCallParams, pizza: str, number: int = 1) -> None:
        """Add pizzas to the order.

        Args:
            pizza: Which pizza.
            number: How many.
        """
        if pizza not in ("salami", "tuna"):
            await params.result_callback({"error": "there is salami and tuna"})
            return
        await params.llm.push_frame(TTSSpeakFrame("Let me check."))
        order.extend([pizza] * number)
        await params.result_callback(f"the order has {len(order)} pizzas")

    async def done(params: FunctionCallParams) -> None:
        """Say goodbye first, in the same answer: this ends the call."""
        await params.llm.push_frame(EndWorkerFrame())
        await params.result_callback("done")

    prompt = "You take orders for a pizza shop. Be brief."
    context = LLMContext([{"role": "system", "content": prompt}], tools=[add, done])
    user, assistant = LLMContextAggregatorPair(
        context, user_params=LLMUserAggregatorParams(vad_analyzer=SileroVADAnalyzer())
    )
    stages = [
        transport.input(),
        DeepgramSTTService(api_key=os.environ["DEEPGRAM_API_KEY"]),
        user,
        OpenAILLMService(api_key=os.environ["OPENAI_API_KEY"], settings=LLM),
        CartesiaTTSService(api_key=os.environ["CARTESIA_API_KEY"], settings=VOICE),
        transport.output(),
        assistant,
    ]
    worker = PipelineWorker(Pipeline(stages), params=PipelineParams(enable_metrics=True))

    @transport.event_handler("on_client_connected")
    async def greet(*_: object) -> None:
        await worker.queue_frames([TTSSpeakFrame("Pizza Roma, what can I get you?")])

    @transport.event_handler("on_client_disconnected")
    async def hang_up(*_: object) -> None:
        await worker.cancel()

    runner = WorkerRunner(handle_sigint=runner_args.handle_sigint)
    await runner.add_workers(worker)
    await runner.run()


if __name__ == "__main__":
    from pipecat.runner.run import main

    main()
