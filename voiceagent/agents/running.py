"""Runs the agent of one call: its tools when the model calls them, its hooks concurrently with the call."""

from __future__ import annotations

import asyncio
import inspect
import sys
import traceback
from collections.abc import Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Any
from weakref import ref

import structlog
from pydantic_core import PydanticSerializationError, to_json

from audio.clips import check_sound
from llmcore.text.whole_characters import join_surrogates
from voiceagent.agents.agent import Agent, greeting_of
from voiceagent.agents.call import AgentCall, Said, ToolActions, no_call, tool_actions
from voiceagent.agents.caller_input import AgentSpoke, CallerInput, Words
from voiceagent.agents.load import BY_NAME
from voiceagent.agents.tool_threads import in_a_thread
from voiceagent.agents.tools import ToolMethod, WrongArguments
from voiceagent.conversation.commands import ResponseConcluded, TurnConcluded
from voiceagent.conversation.events import HookFailed, TurnsClaimed
from voiceagent.mcp.results import cut
from voiceagent.session.agent import (
    GREETING_SILENCE_S,
    AgentSession,
    Answer,
    OfferedTool,
    Pressed,
    ToolFailed,
    ToolResult,
)
from voiceagent.session.call import CallRefused

HOOK_S = 30.0
"""Timeout of a hook."""
RESULT_CHARACTERS = 32_000
"""Maximum characters of a tool's result, some 8,000 tokens: longer ones would fill every later prompt."""

REASON_CHARACTERS = 500
"""Maximum characters of an exception's message in the call's log."""

RunMethod = Callable[[Agent, ToolMethod, Mapping[str, Any]], Coroutine[Any, Any, Any]]
"""Runs a tool's method with validated arguments and returns its result."""


class RunningAgent:
    """The agent of one call: an `AgentCode`.

    Args:
        call_id: For the log.
        make: Creates the first agent. Its instructions are read at once; exceptions of either are passed on,
            and the call cannot begin.
        choose: Creates another agent if the call's parameters select one.
        run_method: Runs the methods of tools, `run_tool_method` by default.
    """

    def __init__(
        self,
        call_id: str,
        make: Callable[[], Agent],
        choose: Callable[[Mapping[str, str]], Agent | None] = lambda _: None,
        run_method: RunMethod | None = None,
    ) -> None:
        self._run_method = run_method or run_tool_method
        self._log = structlog.get_logger().bind(call=call_id)
        self._call_id = call_id
        self._agent = make()
        self._past_agents: list[Agent] = []  # agents that have had the call, each once, in order
        self._over = self._briefs = False
        self._agent._call = no_call()
        self._prompt = self._agent.prompt()
        self._call: Callable[[], AgentSession | None] = lambda: None
        self._context: AgentCall | None = None
        self._hooks: set[asyncio.Task[None]] = set()
        self._choose = choose
        self._caller = CallerInput()

    @property
    def greeting(self) -> str:
        """The agent's first words, "" if its greeting raises."""
        return self._opening(self._agent)

    @property
    def waits_for_answer(self) -> bool:
        """True if the agent has a message for a voicemail, or a hook of its own."""
        return bool(self._agent.leave_message) or type(self._agent).on_answered is not Agent.on_answered

    @property
    def typing_sound(self) -> str:
        """Sound while a tool runs, "" for none, or if an instance's own one is wrong: that is logged."""
        try:
            return check_sound(self._agent.typing_sound) if self._agent.typing_sound else ""
        except (Exception, SystemExit) as error:  # user code, if it is a property
            self._failed("typing_sound", error)
            return ""

    @property
    def agent(self) -> Agent:
        """The agent that has the call now."""
        return self._agent

    @property
    def agents(self) -> Sequence[Agent]:
        """All agents that have had the call, in the order in which they first had it."""
        return self._past_agents

    @property
    def caller(self) -> CallerInput:
        """The caller's input for its tools."""
        return self._caller

    def join(self, call: AgentSession) -> None:
        """Bind the agent to a call and take it over."""
        self._call = ref(call)  # a weak reference: the call holds this agent and ends first
        loop = asyncio.get_running_loop()
        self._context = AgentCall(self._call_id, self._call, self._hand_over, self._caller, loop)
        self._agent._call = self._context
        self._take_over(self._agent, self._prompt)

    def identify(self, parameters: Mapping[str, str]) -> None:
        """Set the call's metadata, and switch to the agent that it selects, if any."""
        if self._context is not None:
            self._context.parameters = dict(parameters)
            call = self._call()
            outbound = None if call is None or call.line is None else call.line.outbound
            self._context.outbound = outbound
            self._briefs = outbound is not None and outbound.briefing
        try:
            agent = self._choose(parameters)
            if agent is not None:
                self._take_over(agent, self._instructions_of(agent))
        except (Exception, SystemExit) as error:  # user code; the current agent answers
            self._failed("choose", error)
            return
        if agent is None and (named := parameters.get(BY_NAME)):  # a misspelt name in the URL
            self._log.warning("no_such_agent", named=named[:60], answers=type(self._agent).__name__)

    def begin(self) -> None:
        """Handle the start of the call: the client is connected. A briefed colleague is no caller."""
        if self._briefs:
            return
        self._past_agents.append(self._agent)
        self._run("on_call_began", self._agent.on_call_began)
        answer = self._context.answer if self._context is not None else None
        call = self._call()
        if answer is not None and call is not None:
            call.post(TurnsClaimed(True, max_silence_s=GREETING_SILENCE_S))
            self._begin_task("on_answered", self._await_answer(answer))

    async def _await_answer(self, answer: Answer) -> None:
        """Run the hook once it is known who answered, and give the turns back to the model."""
        kind = await answer.kind()
        if kind is None or (call := self._call()) is None:
            return
        # a voicemail's further words need no answer either; input that is being collected ends its own claim
        if kind != "voicemail" and not self._caller.wanted:
            call.post(TurnsClaimed(False))
        del call  # the call must not live on because of this task
        await self._guarded("on_answered", self._agent.on_answered, [kind])

    def pressed(self, digit: str) -> Pressed:
        """Handle a key of the caller. Return how it was handled."""
        return self._caller.press(digit)

    async def find_context(self, words: str) -> str | Sequence[str]:
        """Return what the agent finds for these words of the caller. User code: may raise."""
        return await self._agent.find_context(words)

    def on_concluded(self, command: TurnConcluded | ResponseConcluded) -> None:
        """Handle a turn of the caller, or the end of a response."""
        match command:
            case TurnConcluded(text):
                self._caller.push(Words(text))
                self._run("on_turn", self._agent.on_turn, text)
            case ResponseConcluded(text, interrupted):
                self._caller.push(AgentSpoke())
                self._run("on_response", self._agent.on_response, text, interrupted)

    def tool_ended(self, name: str, failure: str) -> None:
        """Handle the end of a tool, after which the instructions may have changed."""
        if failure:
            self._run("on_tool_failed", self._agent.on_tool_failed, name, failure)
        self._refresh_prompt()

    def end(self) -> None:
        """Notify each agent that had the call of its end, in the order in which they first had it."""
        self._caller.end()
        self._over = True
        if self._context is not None:
            hooks = [agent.on_call_ended for agent in self._past_agents]
            self._begin_task("on_call_ended", self._end_each(hooks, self._context.transcript))

    async def hooks_over(self) -> None:
        """Wait until all hooks have finished."""
        while self._hooks:
            await asyncio.wait(self._hooks)

    def _instructions_of(self, agent: Agent) -> str:
        agent._call = self._context
        return agent.prompt()

    def _take_over(self, agent: Agent, prompt: str) -> None:
        call = self._call()
        if call is None:  # the call is over
            return
        self._agent, self._prompt = agent, prompt
        tools = [OfferedTool(tool.spec, _runner(agent, tool, self._run_method)) for tool in agent.tools]
        call.take_over(type(agent).__name__, tools, self._prompt, agent.voice)

    def _hand_over(self, agent: Agent) -> None:
        if self._over:  # a tool that outlived the call may hand it over
            return
        if self._past_agents and all(had is not agent for had in self._past_agents):
            self._past_agents.append(agent)
        self._log.info("agent_handover", agent=type(agent).__name__)
        self._take_over(agent, self._instructions_of(agent))
        if self._context is not None and (opening := self._opening(agent)):
            self._context.say(opening)
        self._run("on_call_began", agent.on_call_began)

    def _opening(self, agent: Agent) -> str:
        try:
            return greeting_of(agent)
        except (Exception, SystemExit) as error:  # user code, during a call
            self._failed("greeting", error)
            return ""

    def _refresh_prompt(self) -> None:
        """Apply the current instructions."""
        try:
            prompt = self._agent.prompt()
            if prompt != self._prompt:
                self._take_over(self._agent, prompt)
        except (Exception, SystemExit) as error:  # it is others' code
            self._failed("instructions", error)

    def _run(self, name: str, hook: Callable[..., Coroutine[Any, Any, None]], *arguments: Any) -> None:
        if not self._briefs:
            self._begin_task(name, self._guarded(name, hook, arguments))

    async def _end_each(
        self, hooks: Sequence[Callable[..., Coroutine[Any, Any, None]]], transcript: Sequence[Said]
    ) -> None:
        for hook in hooks:
            await self._guarded("on_call_ended", hook, [transcript])

    def _begin_task(self, name: str, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work, name=f"hook {name}")
        self._hooks.add(task)
        task.add_done_callback(self._hooks.discard)

    async def _guarded(
        self, name: str, hook: Callable[..., Coroutine[Any, Any, None]], arguments: Sequence[Any]
    ) -> None:
        try:
            async with asyncio.timeout(HOOK_S):
                await hook(*arguments)
        except TimeoutError:
            self._log.warning("agent_slow", where=name, stopped_after_s=HOOK_S)
            self._post_failure(name, "", f"stopped after {HOOK_S:g} s")
        except (Exception, SystemExit) as error:  # user code, which must not end the server
            self._failed(name, error, hook)
        if name != "on_call_ended":
            self._refresh_prompt()

    def _failed(self, name: str, error: BaseException, hook: object = None) -> None:
        """Log an exception of a hook, or of the instructions, and its place. hook: a hook of any agent."""
        self._log.error("agent_failed", where=name, exc_info=error)
        kind = type(getattr(hook, "__self__", self._agent))
        own = getattr(sys.modules.get(kind.__module__), "__file__", None)
        frames = traceback.extract_tb(error.__traceback__)
        frame = next((frame for frame in reversed(frames) if frame.filename == own), frames[-1])
        place = f"{Path(frame.filename).name}:{frame.lineno}, in {frame.name}"
        self._post_failure(name, place, f"{type(error).__name__}: {error}"[:REASON_CHARACTERS])

    def _post_failure(self, name: str, place: str, reason: str) -> None:
        if (call := self._call()) is not None:
            call.post(HookFailed(name, place, reason))


def running_agent(
    call_id: str, make: Callable[[], Agent], choose: Callable[[Mapping[str, str]], Agent | None]
) -> RunningAgent:
    """Return the agent of a new call. Raises CallRefused if it fails."""
    try:
        return RunningAgent(call_id, make, choose)
    except (Exception, SystemExit) as error:  # it is others' code
        log = structlog.get_logger().bind(call=call_id)
        log.error("agent_failed", where="the beginning of the call", exc_info=error)
        raise CallRefused("the agent failed as the call began; the server's log says why") from error


async def run_tool_method(agent: Agent, tool: ToolMethod, given: Mapping[str, Any]) -> Any:
    """Call a tool's method with these arguments and return its result."""
    method = getattr(agent, tool.method)
    is_async = inspect.iscoroutinefunction(method)
    result = await method(**given) if is_async else await in_a_thread(method, **given)
    if inspect.isasyncgen(result):
        raise TypeError(f"{tool.spec.name} returned a generator; allowed: one result")
    # such as the coroutine of the method that a decorator's plain function wraps
    return await result if inspect.isawaitable(result) else result


def _runner(
    agent: Agent, tool: ToolMethod, run_method: RunMethod
) -> Callable[[str], Coroutine[Any, Any, ToolResult]]:
    async def run(arguments: str) -> ToolResult:
        try:
            given = tool.check(arguments)
        except WrongArguments as error:
            raise ToolFailed(str(error)) from error
        actions = ToolActions(bool(tool.speaks_result))
        tool_actions.set(actions)  # a tool has its own task, and so its own context
        try:
            result = await run_method(agent, tool, given)
            words = ""
            if "transfer" not in actions.done:  # after a transfer nobody hears them
                words = cut(tool.words_for(result), RESULT_CHARACTERS)
            if words:
                agent.call.post_result(words)
        except ExceptionGroup as group:  # of a TaskGroup
            if group.split(ToolFailed)[1] is not None:
                raise
            raise _failure_of(group) from group
        except SystemExit as error:  # raised by a tool, it would end the server
            raise RuntimeError(f"{tool.spec.name} would have ended the program") from error
        finally:
            actions.finish()
        return ToolResult(cut(_result_text(result), RESULT_CHARACTERS), reply=not (actions.done or words))

    return run


def _failure_of(group: ExceptionGroup[Exception]) -> ToolFailed:
    """Return the failures of a tool's concurrent tasks as one, with the words of all for the model."""
    failures = (
        _failure_of(error) if isinstance(error, ExceptionGroup) else error for error in group.exceptions
    )
    return ToolFailed("; ".join(words for words in map(str, failures) if words))


def _result_text(result: Any) -> str:
    """Return a tool's result as text for the model."""
    if result is None:
        return "done"
    if isinstance(result, str):
        return join_surrogates(result)  # LLM servers refuse lone surrogates
    try:
        return to_json(result, fallback=str).decode()
    except PydanticSerializationError:  # the tool's effect stands; bytes, or a recursive object
        return str(result)
