"""The shop of README in LiveKit Agents; needs a running LiveKit server: python shop_livekit.py dev"""

from livekit import api
from livekit.agents import (
    Agent,
    AgentServer,
    AgentSession,
    JobContext,
    RunContext,
    ToolError,
    cli,
    function_tool,
    get_job_context,
)
from livekit.plugins import cartesia, deepgram, openai, silero

server = AgentServer()


class Orders(Agent):
    def __init__(self) -> None:
        super().__init__(instructions="You take orders for a pizza shop. Be brief.")
        self.order: list[str] = []

    async def on_enter(self) -> None:
        await self.session.say("Pizza Roma, what can I get you?")

    @function_tool
    async def add(self, context: RunContext, pizza: str, number: int = 1) -> str:
        """Add pizzas to the order."""
        if pizza not in ("salami", "tuna"):
            raise ToolError("there is salami and tuna")
        context.session.say("Let me check.")
        self.order += [pizza] * number
        await self.update_instructions(
            f"You take orders for a pizza shop. Be brief. Ordered so far: {self.order}."
        )
        return f"the order has {len(self.order)} pizzas"

    @function_tool
    async def done(self, context: RunContext) -> None:
        """Say goodbye first, in the same answer: this ends the call."""
        await context.wait_for_playout()
        job = get_job_context()
        await job.api.room.delete_room(api.DeleteRoomRequest(room=job.room.name))


@server.rtc_session()
async def entrypoint(ctx: JobContext) -> None:
    session = AgentSession(
        vad=silero.VAD.load(), stt=deepgram.STT(), llm=openai.LLM(model="gpt-4.1-mini"), tts=cartesia.TTS()
    )
    await session.start(agent=Orders(), room=ctx.room)


if __name__ == "__main__":
    cli.run_app(server)
