"""The scenario `taxi_at_six` in LiveKit Agents' tests: pytest livekit_taxi.py"""

import os

import pytest
from livekit.agents import Agent, AgentSession, function_tool
from livekit.plugins import openai


class FrontDesk(Agent):
    def __init__(self) -> None:
        super().__init__(instructions="You are the front desk of the Lakeside Hotel.")

    @function_tool
    async def order_taxi(self, time: str = "") -> str:
        """Order a taxi. time: when it is to come, if not at once."""
        return f"ordered: it comes at {time}"


@pytest.mark.asyncio
async def test_taxi_at_six() -> None:
    llm = openai.LLM(model="m", base_url=os.environ["LLM_URL"], api_key="none")
    async with llm, AgentSession(llm=llm) as session:
        await session.start(FrontDesk())
        result = await session.run(user_input="I need a taxi at six, please.")
        result.expect.next_event().is_function_call(name="order_taxi", arguments={"time": "six"})
        result.expect.next_event().is_function_call_output()
        answer = result.expect.next_event().is_message(role="assistant")
        assert "six" in (answer.event().item.text_content or "")
        result.expect.no_more_events()
