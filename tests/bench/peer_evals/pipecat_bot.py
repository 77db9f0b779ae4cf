"""A front desk in Pipecat, for its evals: python pipecat_bot.py --port 7900"""

import os

from pipecat.evals.transport import EvalTransportParams
from pipecat.pipeline.pipeline import Pipeline
from pipecat.pipeline.worker import PipelineWorker
from pipecat.processors.aggregators.llm_context import LLMContext
from pipecat.processors.aggregators.llm_response_universal import LLMContextAggregatorPair
from pipecat.runner.types import RunnerArguments
from pipecat.runner.utils import create_transport
from pipecat.services.llm_service import FunctionCallParams
from pipecat.services.openai.llm import OpenAILLMService
from pipecat.workers.runner import WorkerRunner

TRANSPORTS = {"eval": EvalTransportParams}


async def order_taxi(params: FunctionCallParams, time: str = "") -> None:
    """Order a taxi.

    Args:
        time: When it is to come, if not at once.
    """
    await params.result_callback(f"ordered: it comes at {time}")


async def bot(runner_args: RunnerArguments) -> None:
    transport = await create_transport(runner_args, TRANSPORTS)
    prompt = "You are the front desk of the Lakeside Hotel."
    context = LLMContext([{"role": "system", "content": prompt}], tools=[order_taxi])
    user, assistant = LLMContextAggregatorPair(context)
    llm = OpenAILLMService(
        api_key="none", base_url=os.environ["LLM_URL"], settings=OpenAILLMService.Settings(model="m")
    )
    worker = PipelineWorker(Pipeline([transport.input(), user, llm, transport.output(), assistant]))

    @transport.event_handler("on_client_disconnected")
    async def hang_up(*_: object) -> None:
        await worker.cancel()

    runner = WorkerRunner(handle_sigint=runner_args.handle_sigint)
    await runner.add_workers(worker)
    await runner.run()


if __name__ == "__main__":
    from pipecat.runner.run import main

    main()
