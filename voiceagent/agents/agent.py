"""What an agent in Python is: the class that people derive theirs from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from llmcore.text.whole_characters import join_surrogates
from voiceagent.agents.contract import WrongAgent, check_agent
from voiceagent.agents.tools import ToolMethod, tools_of

if TYPE_CHECKING:
    from voiceagent.agents.call import AgentCall, Said


class Agent:
    """An agent. Each call has its own instance, so attributes hold the state of one call.

    instructions: the system prompt, or a method that returns it; the method runs again after every turn and
    tool call. greeting: the agent's first words, in a new call or after a hand-over; "" waits for the caller.
    voice: a name shown to clients, None for the configured one; the sound does not change. The hooks do
    nothing by default. They run concurrently with the call: exceptions are logged, and a hook that takes
    longer than 30 s is cancelled.
    """

    instructions: str = ""
    greeting: str = ""
    voice: str | None = None
    tools: ClassVar[tuple[ToolMethod, ...]] = ()
    _call: AgentCall | None = None

    def __init_subclass__(cls) -> None:
        """Raises WrongAgent, WrongTool where the class is not what it must be."""
        super().__init_subclass__()
        check_agent(cls, Agent)
        cls.tools = tools_of(cls)

    @property
    def call(self) -> AgentCall:
        """The call: what is done in it. Raises RuntimeError before the agent has one."""
        if self._call is None:
            raise RuntimeError(f"{type(self).__name__} has no call yet; use self.call in hooks and tools")
        return self._call

    def prompt(self) -> str:
        """The instructions as they are now. Raises WrongAgent where they are no text."""
        instructions = self.instructions
        prompt = instructions() if callable(instructions) else instructions
        if not isinstance(prompt, str):
            raise WrongAgent(
                f"{type(self).__name__}: its instructions are {type(prompt).__name__}; allowed: text"
            )
        return prompt

    async def on_call_began(self) -> None:
        """The caller is there, or another agent has handed the call over."""

    async def find_context(self, words: str) -> str | Sequence[str]:
        """What may help the model to answer these words, as one text or several; it needs `[context]`.

        It is asked while the caller still speaks, with more and more of the words, and may take
        `context.deadline_s`.
        """
        return ()

    async def on_turn(self, text: str) -> None:
        """The caller has said this; the response is on its way already."""

    async def on_response(self, text: str, interrupted: bool) -> None:
        """A response is over: what was played of it, and whether the caller cut it."""

    async def on_tool_failed(self, name: str, reason: str) -> None:
        """A tool did not do what it was called for."""

    async def on_call_ended(self, transcript: Sequence[Said]) -> None:
        """Handle the end of the call; the agent can say nothing any more. Runs for each agent that had the
        call, including those that handed it over, but not if the call never began.
        """


def greeting_of(agent: Agent) -> str:
    """The greeting as it is now. Raises WrongAgent where it is no text, and what a property raises."""
    greeting: object = agent.greeting
    if not isinstance(greeting, str):
        raise WrongAgent(f"{type(agent).__name__}: its greeting is {type(greeting).__name__}; allowed: text")
    return join_surrogates(greeting)
