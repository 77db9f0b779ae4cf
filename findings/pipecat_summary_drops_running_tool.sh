#!/usr/bin/env bash
# pipecat-ai 1.14.0: context summarization removes an asynchronous tool call that still runs; the model then receives a result
# without knowing what it asked for.
#
# A tool with `cancel_on_interruption=False` runs on while the caller talks of other things. Its result follows in a message
# that names the call by its id only. Summarization replaces older messages with one text. Its source says that it stops before
# calls without a result, asynchronous ones included, and for other tools it does. But the placeholder of a running call has the
# status "running" (since streamed results were added, in April 2026), and the summarizer looks for "started". So the next
# summary takes the call, its arguments, and the request not to call the tool again: the model may book a second time. Of two
# bookings it learns that `call_1` was confirmed and `call_2` was not, and the prompt does not tell which was Friday. Whether
# the summary's text mentions the calls depends on the model that writes it. No warning is logged.
# What helps: results that name what they are for, as below; or `LLMSummarizeContextFrame` while no tool runs, in place of
# automatic summaries.
# Output seen: bookings left in the prompt that has their results: none; with the status "started": Friday, Saturday.
# Seen with pipecat-ai 1.14.0, Python 3.11. Exits with 0 while that is so.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --no-compile pipecat-ai==1.14.0
cat > "$folder/summary.py" <<'PYTHON'
import asyncio
import json
from importlib.metadata import version

from loguru import logger

logger.remove()
from pipecat.frames import frames  # noqa: E402
from pipecat.pipeline.pipeline import Pipeline  # noqa: E402
from pipecat.processors.aggregators import async_tool_messages  # noqa: E402
from pipecat.processors.aggregators.llm_context import LLMContext  # noqa: E402
from pipecat.processors.aggregators.llm_response_universal import (  # noqa: E402
    LLMAssistantAggregatorParams,
    LLMContextAggregatorPair,
    LLMUserAggregatorParams,
)
from pipecat.services.llm_service import FunctionCallFromLLM, LLMService  # noqa: E402
from pipecat.tests.utils import SleepFrame, run_test  # noqa: E402
from pipecat.turns.user_turn_strategies import ExternalUserTurnStrategies  # noqa: E402
from pipecat.utils.context.llm_context_summarization import (  # noqa: E402
    LLMAutoContextSummarizationConfig,
    LLMContextSummaryConfig,
)

QUESTIONS = ("Is there a garden?", "Is it quiet?", "And warm?", "Is it big?", "Good.")
loop = asyncio.SelectorEventLoop()
select, seconds = loop._selector.select, [0.0]


def wait(timeout):  # for nothing: only the loop's clock goes on, so that a busy machine changes nothing
    ready = select(0)
    seconds[0] += 0 if ready else timeout or 0
    return ready


loop._selector.select, loop.time = wait, lambda: seconds[0]


class Model(LLMService):
    """Books two tables at the first question and says "Yes." to the others. prompt: the last that it got."""

    def __init__(self) -> None:
        super().__init__()
        self.prompt = []

    async def process_frame(self, frame, direction) -> None:
        await super().process_frame(frame, direction)
        if not isinstance(frame, frames.LLMContextFrame):
            return await self.push_frame(frame, direction)
        first, self.prompt = not self.prompt, list(frame.context.get_messages())
        await self.push_frame(frames.LLMFullResponseStartFrame())
        if first:
            calls = [("call_1", "Friday"), ("call_2", "Saturday")]
            await self.run_function_calls(
                [FunctionCallFromLLM("book", key, {"day": day}, frame.context) for key, day in calls]
            )
        else:
            await self.push_frame(frames.LLMTextFrame("Yes."))
        await self.push_frame(frames.LLMFullResponseEndFrame())

    async def run_inference(self, context, **kwargs) -> str:
        return "The caller asks for tables and about the garden."


async def call(names_day: bool) -> list[dict]:
    """Return the prompt with the results of two bookings that took a minute. The caller asks other things meanwhile."""

    async def book(params) -> None:
        await asyncio.sleep(60)
        result = {"confirmed": params.arguments["day"] == "Friday"}
        await params.result_callback(result | (dict(params.arguments) if names_day else {}))

    context, model = LLMContext(), Model()
    model.register_function("book", book, cancel_on_interruption=False, timeout_secs=300)
    config = LLMAutoContextSummarizationConfig(
        max_unsummarized_messages=10, summary_config=LLMContextSummaryConfig(min_messages_after_summary=4)
    )
    caller, agent = LLMContextAggregatorPair(
        context,
        user_params=LLMUserAggregatorParams(user_turn_strategies=ExternalUserTurnStrategies()),
        assistant_params=LLMAssistantAggregatorParams(
            enable_auto_context_summarization=True, auto_context_summarization_config=config
        ),
    )
    steps = []
    for text in ("A table on Friday and one on Saturday, please.", *QUESTIONS):
        steps += [frames.UserStartedSpeakingFrame(), SleepFrame(sleep=0.2)]
        steps += [frames.TranscriptionFrame(text, "caller", "now"), SleepFrame(sleep=0.2)]
        steps += [frames.UserStoppedSpeakingFrame(), SleepFrame(sleep=4)]
    steps.append(SleepFrame(sleep=60))
    await run_test(Pipeline([caller, model, agent]), frames_to_send=steps, start_timeout=60)
    return model.prompt


async def main() -> None:
    print("pipecat-ai", version("pipecat-ai"))
    running = async_tool_messages._STATUS_RUNNING
    for name, status, names_day, asked, told in (
        ("as it is", running, False, [], []),
        ('with the status "started"', "started", False, ["Friday", "Saturday"], []),
        ("results that name the day", running, True, [], ["Friday", "Saturday"]),
    ):
        async_tool_messages._STATUS_RUNNING = status
        prompt = await call(names_day)
        calls = [each["function"]["arguments"] for message in prompt for each in message.get("tool_calls", ())]
        developer = [json.loads(message["content"]) for message in prompt if message["role"] == "developer"]
        results = {each["tool_call_id"]: json.loads(each["result"]) for each in developer}
        results = dict(sorted(results.items()))
        print(f"  {name}: bookings in the prompt: {calls}; results: {results}")
        assert [each["confirmed"] for each in results.values()] == [True, False]
        assert [json.loads(arguments)["day"] for arguments in calls] == asked
        assert [each["day"] for each in results.values() if "day" in each] == told
        assert prompt[0]["content"].startswith("Conversation summary")


loop.run_until_complete(main())
PYTHON
"$folder/venv/bin/python" "$folder/summary.py"
