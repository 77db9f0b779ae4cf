"""Tools of MCP servers in a call: listed for the model, approved by the client, run once, never lost."""

from __future__ import annotations

from dataclasses import replace

import pytest
from call_settings import call_settings
from call_world import CallWorld, of
from hypothesis import given
from hypothesis import strategies as st

from llmcore.engine import Generation, Tool, ToolCall, Usage
from voiceagent.conversation import commands as do
from voiceagent.conversation import events as ev
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.history import MessageItem
from voiceagent.conversation.mcp import (
    NO_APPROVAL,
    Approval,
    ListedTool,
    McpApprovalRequest,
    McpApprovalResponse,
    McpCallItem,
    McpError,
    McpListItem,
    McpServer,
    ToolFilter,
    mcp_choice,
    offered_tools,
)
from voiceagent.conversation.prompting.items import PENDING

LOOK = ListedTool("look", "Looks something up.", read_only=True)
ORDER = ListedTool("order", "Orders something.")
OPEN = McpServer("open", "https://open.example/mcp", approval=NO_APPROVAL)
STRICT = McpServer("strict", "https://strict.example/mcp")


def world(*servers: McpServer, listed: tuple[ListedTool, ...] = (LOOK, ORDER)) -> CallWorld:
    """A call whose client named these servers, which have answered."""
    call = CallWorld(call_settings(mcp_servers=servers))
    call.feed(ev.CallStarted())
    for command in of(do.ListMcpTools, call.commands):
        call.feed(ev.McpListed(command.item_id, listed))
    return call


def asks(call: CallWorld, *names: str, arguments: str = "{}") -> list[do.Command]:
    """The caller asks for something, and the model calls these tools."""
    call.say("please", 1.0 + len(call.commands))
    response_id = call.response_id()
    wanted = tuple(ToolCall(f"{name}_1", name, arguments) for name in names)
    commands = call.feed(ev.ToolCallsReady(response_id, wanted))
    call.feed(ev.ResponseGenerated(response_id, "tool_calls", Usage()))
    return commands + call.play_out(response_id)


def forced(choice: str, *servers: McpServer, listed: tuple[ListedTool, ...] = (LOOK, ORDER)) -> Generation:
    """Return the request of a response with this tool choice."""
    call = world(*servers, listed=listed)
    call.say("please")
    call.feed(ev.ResponseCancelled())
    (start,) = of(do.StartResponse, call.feed(ev.ResponseRequested(tool_choice=choice)))
    return start.request


def test_a_forced_tool_of_a_server_is_forced_by_the_name_that_the_model_knows() -> None:
    asked = forced(mcp_choice("strict", "look"), OPEN, STRICT)
    assert asked.tool_choice == "strict_look"
    assert [tool.name for tool in asked.tools] == ["look", "order", "strict_look", "strict_order"]


def test_a_forced_server_of_several_tools_is_offered_alone() -> None:
    asked = forced(mcp_choice("strict"), OPEN, STRICT)
    assert asked.tool_choice == "required"
    assert [tool.name for tool in asked.tools] == ["strict_look", "strict_order"]


def test_a_forced_server_of_one_tool_is_that_tool() -> None:
    assert forced(mcp_choice("open"), OPEN, listed=(LOOK,)).tool_choice == "look"


@pytest.mark.parametrize("choice", [mcp_choice("open", "gone"), mcp_choice("open")])
def test_a_forced_tool_that_is_not_listed_forces_nothing(choice: str) -> None:
    assert forced(choice, OPEN, listed=()).tool_choice == "auto"


def finish(call: CallWorld, name: str, output: str = "4 in stock") -> list[do.Command]:
    return call.feed(ev.ToolFinished(f"{name}_1", "done", output, reply=False))


def answer(call: CallWorld, approve: bool, request_id: str = "", reason: str = "") -> list[do.Command]:
    """The client answers the request for approval."""
    requests = of(McpApprovalRequest, list(call.conversation.history.items))
    request_id = request_id or requests[-1].item_id
    item = McpApprovalResponse(f"answer_{len(call.steps)}", request_id, approve, reason)
    return call.feed(ev.ItemCreated(item))


def results(call: CallWorld) -> list[McpCallItem]:
    return of(McpCallItem, list(call.conversation.history.items))


def prompt(call: CallWorld) -> list[tuple[str, str]]:
    """Return the prompt of a response that the client requests now."""
    (begun,) = of(do.StartResponse, call.feed(ev.ResponseRequested()))
    return [(message.role, message.content) for message in begun.request.messages]


# ---- lists


def test_a_server_is_asked_for_its_tools_when_the_call_has_begun() -> None:
    call = CallWorld(call_settings(mcp_servers=(OPEN,)))
    commands = call.feed(ev.CallStarted())
    kinds = [type(command) for command in commands]
    listing = [notify.NotifySettings, notify.NotifyItemAdded, notify.NotifyMcpListing, do.ListMcpTools]
    assert kinds[:4] == listing


def test_listed_tools_are_an_item_and_offered_to_the_model() -> None:
    call = world(OPEN)
    (item,) = of(McpListItem, list(call.conversation.history.items))
    assert (item.tools, item.status) == ((LOOK, ORDER), "completed")
    call.say("hello")
    (begun,) = of(do.StartResponse, call.commands)
    assert [tool.name for tool in begun.request.tools] == ["look", "order"]


def test_a_filter_keeps_tools_from_list_and_model() -> None:
    call = world(replace(OPEN, allowed=ToolFilter(read_only=True)))
    assert [tool.tool.name for tool in call.conversation.settings.mcp_tools] == ["look"]


def test_a_server_that_failed_is_asked_when_named_again() -> None:
    call = CallWorld(call_settings(mcp_servers=(OPEN,)))
    call.feed(ev.CallStarted())
    (command,) = of(do.ListMcpTools, call.commands)
    failed = call.feed(ev.McpListed(command.item_id, failure="it does not answer"))
    assert [told.status for told in of(notify.NotifyMcpListing, failed)] == ["failed"]
    assert "it does not answer" in of(notify.NotifyError, failed)[0].message
    assert of(do.ListMcpTools, call.feed(ev.SettingsChanged(call.conversation.settings)))


def test_a_server_that_is_known_is_not_asked_again() -> None:
    call = world(OPEN)
    changed = replace(call.conversation.settings, instructions="Be brief.")
    assert not of(do.ListMcpTools, call.feed(ev.SettingsChanged(changed)))
    assert call.conversation.settings.mcp_tools


def test_a_server_that_is_named_no_more_has_no_tools() -> None:
    call = world(OPEN)
    call.feed(ev.SettingsChanged(replace(call.conversation.settings, mcp_servers=())))
    assert call.conversation.settings.mcp_tools == ()


def test_a_response_waits_for_the_list_of_its_own_server() -> None:
    call = world()
    wanted = ev.ResponseRequested(tools=(), mcp_servers=(OPEN,))
    commands = call.feed(wanted)
    assert not of(do.StartResponse, commands)
    (command,) = of(do.ListMcpTools, commands)
    (begun,) = of(do.StartResponse, call.feed(ev.McpListed(command.item_id, (LOOK,))))
    assert [tool.name for tool in begun.request.tools] == ["look"]
    call.feed(ev.ToolCallsReady(begun.response_id, (ToolCall("look_1", "look", "{}"),)))
    assert of(do.RunTool, call.commands)[0].mcp == OPEN


def test_a_response_whose_server_fails_is_made_without_its_tools() -> None:
    call = world()
    (command,) = of(do.ListMcpTools, call.feed(ev.ResponseRequested(tools=(), mcp_servers=(OPEN,))))
    assert of(do.StartResponse, call.feed(ev.McpListed(command.item_id, failure="it does not answer")))


def test_tools_of_one_name_are_told_apart_by_their_servers_labels() -> None:
    functions = {"look": Tool("look", "The client's.")}
    names = [tool.tool.name for tool in offered_tools(OPEN, (LOOK, ORDER), functions)]
    assert names == ["open_look", "order"]


@given(st.lists(st.text(max_size=80), max_size=12), st.lists(st.text("ab_", min_size=1, max_size=3)))
def test_names_are_such_as_models_take_and_differ(names: list[str], taken: list[str]) -> None:
    others = {name: None for name in taken}
    tools = offered_tools(OPEN, [ListedTool(name, "") for name in names], others)
    found = [tool.tool.name for tool in tools]
    assert len(set(found) | others.keys()) == len(found) + len(others)
    assert all(name.isascii() and 0 < len(name) <= 64 for name in found)
    assert [tool.name for tool in tools] == names


# ---- calls


def test_a_call_run_at_its_server_is_one_item_with_output() -> None:
    call = world(OPEN)
    commands = asks(call, "look")
    (run,) = of(do.RunTool, commands)
    assert (run.mcp, run.mcp_name) == (OPEN, "look")
    ended = finish(call, "look")
    assert not of(do.StartResponse, ended), "the client asks for the response, by the protocol"
    assert [item.output for item in results(call)] == ["4 in stock"]
    assert prompt(call) == [("user", "please"), ("assistant", ""), ("tool", "4 in stock")]


def test_a_call_that_fails_has_an_error_and_no_output() -> None:
    call = world(OPEN)
    asks(call, "look")
    error = McpError("http_error", "it cannot be reached", 502)
    call.feed(ev.ToolFinished("look_1", "failed", "it cannot be reached", error=error))
    (item,) = results(call)
    assert (item.output, item.error) == (None, error)
    assert prompt(call)[-1] == ("tool", "it cannot be reached")


def test_a_call_that_took_too_long_is_an_error_of_its_execution() -> None:
    call = world(OPEN)
    asks(call, "look")
    call.feed(ev.ToolFinished("look_1", "failed", "no result within 30 s"))
    assert results(call)[0].error == McpError("tool_execution_error", "no result within 30 s")


def test_a_caller_who_goes_on_is_answered_before_the_output() -> None:
    call = world(OPEN)
    asks(call, "look")
    call.say("and how are you", 90.0)
    (begun,) = [command for command in of(do.StartResponse, call.commands) if "how are you" in str(command)]
    assert PENDING in str(begun.request.messages)
    call.play_out(call.make("Fine."))
    finish(call, "look")
    told = prompt(call)
    assert told[-1] == ("user", "[look has ended by now: 4 in stock]")
    assert ("tool", PENDING) in told, "what the model was told before stays as it was"


def test_an_output_is_told_though_its_call_was_deleted() -> None:
    call = world(OPEN)
    asks(call, "look")
    call.feed(ev.ItemDeleted(results(call)[0].item_id))
    finish(call, "look")
    assert prompt(call)[-1] == ("user", "please [look has ended by now: 4 in stock]")


# ---- approval


def test_a_call_that_needs_approval_waits_for_the_client() -> None:
    call = world(STRICT)
    commands = asks(call, "order", arguments='{"what": "tea"}')
    assert not of(do.RunTool, commands)
    (request,) = of(notify.NotifyMcpApprovalRequest, commands)
    assert (request.item.name, request.item.call.arguments) == ("order", '{"what": "tea"}')


def test_an_approved_call_runs_and_names_its_approval() -> None:
    call = world(STRICT)
    asks(call, "order")
    (run,) = of(do.RunTool, answer(call, approve=True))
    assert run.mcp_name == "order"
    finish(call, "order", "ordered")
    (item,) = results(call)
    assert item.request_id == of(McpApprovalRequest, list(call.conversation.history.items))[0].item_id
    assert prompt(call) == [("user", "please"), ("assistant", ""), ("tool", "ordered")]


def test_a_call_that_is_not_approved_fails_with_the_clients_reason() -> None:
    call = world(STRICT)
    asks(call, "order")
    assert not of(do.RunTool, answer(call, approve=False, reason="too dear"))
    (item,) = results(call)
    assert item.error == McpError("tool_execution_error", "not done: it was not approved: too dear")
    assert prompt(call)[-1] == ("tool", "not done: it was not approved: too dear")


def test_a_request_is_answered_once() -> None:
    call = world(STRICT)
    asks(call, "order")
    answer(call, approve=True)
    again = answer(call, approve=True)
    assert not of(do.RunTool, again)
    assert of(notify.NotifyError, again)[0].param == "item.approval_request_id"


def test_an_answer_that_cannot_be_an_item_approves_nothing() -> None:
    call = world(STRICT)
    asks(call, "order")
    (request,) = of(McpApprovalRequest, list(call.conversation.history.items))
    taken = McpApprovalResponse(request.item_id, request.item_id, approve=True)
    assert not of(do.RunTool, call.feed(ev.ItemCreated(taken)))
    assert of(do.RunTool, answer(call, approve=True))


def test_a_call_approved_late_is_told_at_the_conversations_end() -> None:
    call = world(STRICT)
    asks(call, "order")
    call.say("and how are you", 90.0)
    call.play_out(call.make("Fine."))
    assert of(do.RunTool, answer(call, approve=True))
    finish(call, "order", "ordered")
    assert prompt(call)[-1] == ("user", "[order has ended by now: ordered]")


@pytest.mark.parametrize(
    ("approval", "look", "order"),
    [
        (Approval(), True, True),
        (NO_APPROVAL, False, False),
        (Approval(never=ToolFilter(("look",))), False, True),
        (Approval(always=ToolFilter(("order",))), False, True),
        (Approval(never=ToolFilter(read_only=True)), False, True),
        (Approval(ToolFilter(("look",)), ToolFilter(("order",))), True, False),
    ],
)
def test_filters_say_which_tools_need_approval(approval: Approval, look: bool, order: bool) -> None:
    assert (approval.is_needed(LOOK), approval.is_needed(ORDER)) == (look, order)


# ---- whatever happens

MOVES = st.lists(
    st.sampled_from(["look", "order", "both", "end", "approve", "deny", "speak", "cut", "ask", "delete"]),
    max_size=40,
)


@given(MOVES)
def test_whatever_happens_a_call_runs_once_and_its_result_is_told_once(moves: list[str]) -> None:
    life = _Life()
    for move in moves:
        life.move(move)
    life.settle()
    ran = [command.call.call_id for command in of(do.RunTool, life.call.commands)]
    assert len(ran) == len(set(ran)), "a call ran twice"
    ended = [told.item for told in of(notify.NotifyMcpCallEnded, life.call.commands)]
    outputs = {item.call.call_id: item.output for item in ended if item.error is None}
    assert outputs == {call_id: f"result of {call_id}." for call_id in ran}, "a result was lost or invented"
    assert len(ended) == len({item.call.call_id for item in ended}), "a call ended twice"
    told = "\n".join(content for _, content in prompt(life.call))
    for item in results(life.call):
        assert item.prompt_text is not None
        assert item.output is None or told.count(item.output) == 1


class _Life:
    """Moves of model, caller, client and servers, each where it is possible."""

    def __init__(self) -> None:
        look, order = ToolFilter(("look",)), ToolFilter(("order",))
        self.call = world(replace(OPEN, allowed=look), replace(STRICT, allowed=order))
        self._number = 0
        self._ended: set[str] = set()
        self._answered: set[str] = set()
        self.call.say("hello")

    def move(self, name: str) -> None:
        self._number += 1
        at_s = 10.0 * self._number
        live = next(iter(self.call.live()), None)
        if name in ("look", "order", "both") and live in self.call.working:
            for tool in ("look", "order") if name == "both" else (name,):
                wanted = ToolCall(f"{tool}_{self._number}", tool, str(self._number))
                self.call.feed(ev.ToolCallsReady(live, (wanted,)))
            self.call.feed(ev.ResponseGenerated(live, "tool_calls", Usage()))
            self.call.play_out(live)
        elif name == "end":
            self._end_one()
        elif name in ("approve", "deny"):
            self._answer_one(name == "approve")
        elif name == "speak":
            self.call.say("something else", at_s)
        elif name == "cut":
            item_id = self.call.begin_speaking(at_s)
            self.call.feed(ev.InterruptionConfirmed(at_s + 0.5))
            self.call.pause(item_id, "wait", at_s + 1)
            self.call.feed(ev.TurnEnded(at_s + 1))
        elif name == "ask":
            self.call.feed(ev.ResponseRequested())
        elif name == "delete":
            kinds = (MessageItem, McpListItem, McpApprovalResponse)
            items = [item for item in self.call.conversation.history.items if isinstance(item, kinds)]
            if items:
                self.call.feed(ev.ItemDeleted(items[-1].item_id))

    def settle(self) -> None:
        for _ in range(80):
            for live in list(self.call.live()):
                if live in self.call.working:
                    self.call.feed(ev.ResponseGenerated(live, "stop", Usage()))
                self.call.play_out(live)
            self._answer_one(approve=True)
            self._end_one()
        assert not self.call.live()

    def _end_one(self) -> None:
        ran = [command.call.call_id for command in of(do.RunTool, self.call.commands)]
        for call_id in [call_id for call_id in ran if call_id not in self._ended][:1]:
            self._ended.add(call_id)
            for output in (f"result of {call_id}.", "again"):
                self.call.feed(ev.ToolFinished(call_id, "done", output, reply=False))

    def _answer_one(self, approve: bool) -> None:
        requests = of(McpApprovalRequest, list(self.call.conversation.history.items))
        for request in [one for one in requests if one.item_id not in self._answered][:1]:
            self._answered.add(request.item_id)
            answer(self.call, approve, request.item_id)
            answer(self.call, True, request.item_id)
