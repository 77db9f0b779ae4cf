"""Agents in Python: a class with instructions, tools and hooks. Each call has its own instance.

class Orders(Agent):
    instructions = "You take orders for a pizza shop."

    @tool
    async def order(self, pizza: str, number: int = 1) -> str:
        \"\"\"Order pizzas.\"\"\"
        return f"{number} {pizza} will be there in half an hour"
"""

from voiceagent.agents.agent import Agent
from voiceagent.agents.background_sound import BackgroundSound
from voiceagent.agents.call import AgentCall, Said
from voiceagent.agents.tools import tool
from voiceagent.session.agent import ToolFailed, TransferFailed

__all__ = ["Agent", "AgentCall", "BackgroundSound", "Said", "ToolFailed", "TransferFailed", "tool"]
