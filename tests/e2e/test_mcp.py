"""MCP in whole calls: the unmodified `openai` SDK, and an agent of the configuration, use a real server."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import mcp_servers
import pytest
import pytest_asyncio
from aiortc import RTCSessionDescription
from mcp_config import mcp_config
from mcp_servers import mcp_server
from openai import AsyncOpenAI
from openai_types import client_event, proved
from rtc_caller import RtcCaller, rtc_calling
from sdk_caller import SdkCaller, calling
from served import lent, served

ASK: dict[str, Any] = {
    "type": "message",
    "role": "user",
    "content": [{"type": "input_text", "text": "How is the weather?"}],
}


def shop(address: str, **fields: Any) -> dict[str, Any]:
    """The server as a client names it, with the one tool that the scripted LLM calls."""
    url = f"{address}/mcp"
    return {
        "type": "mcp", "server_label": "shop", "server_url": url, "allowed_tools": ["weather"], **fields,
    }  # fmt: skip


async def ask(caller: SdkCaller) -> None:
    await caller.connection.conversation.item.create(item=ASK)  # type: ignore[arg-type]
    await caller.connection.response.create()


def said(done: dict[str, Any]) -> str:
    (item,) = done["response"]["output"]
    return str(item["content"][0].get("transcript") or item["content"][0].get("text"))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared_both(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[tuple[str, str]]:
    async with (
        mcp_server() as (address, _),
        served(mcp_config(tmp_path_factory.mktemp("mcp"), address)) as ours,
    ):
        yield address, ours


@pytest.fixture
async def both(shared_both: tuple[str, str]) -> AsyncIterator[tuple[str, str]]:
    """Yield the addresses of an MCP server and of a server that may connect to it."""
    address, ours = shared_both
    async with lent(ours):
        yield address, ours


async def test_the_sdk_approves_a_tool_the_agent_speaks_of(both: tuple[str, str]) -> None:
    address, ours = both
    async with calling(ours, tools=[shop(address)]) as caller:
        await caller.until("mcp_list_tools.completed")
        await ask(caller)
        first = await caller.until("response.done")
        (request,) = first["response"]["output"]
        assert (request["type"], request["name"]) == ("mcp_approval_request", "weather")
        assert not caller.of("response.mcp_call.in_progress")
        await caller.connection.conversation.item.create(
            item={"type": "mcp_approval_response", "approval_request_id": request["id"], "approve": True}  # type: ignore[arg-type, typeddict-item]
        )
        await caller.until("response.mcp_call.completed")
        await caller.connection.response.create()
        assert said(await caller.until("response.done", 2)) == "It says sunny in Bonn, 20 C."
        (called,) = [
            event["item"] for event in caller.of("response.output_item.done") if "output" in event["item"]
        ]
        assert called["approval_request_id"] == request["id"]


async def test_the_sdk_refuses_and_the_tool_is_not_called(both: tuple[str, str]) -> None:
    address, ours = both
    async with calling(ours, tools=[shop(address, allowed_tools=["order"])]) as caller:
        await caller.until("mcp_list_tools.completed")
        await ask(caller)
        (request,) = (await caller.until("response.done"))["response"]["output"]
        refusal = {"type": "mcp_approval_response", "approval_request_id": request["id"], "approve": False}
        await caller.connection.conversation.item.create(item=refusal)  # type: ignore[arg-type]
        await caller.until("response.mcp_call.failed")
        await caller.connection.response.create()
        assert said(await caller.until("response.done", 2)) == "It says not done: it was not approved."


async def test_one_response_has_tools_of_its_own(both: tuple[str, str]) -> None:
    address, ours = both
    async with calling(ours) as caller:
        await caller.connection.conversation.item.create(item=ASK)  # type: ignore[arg-type]
        tools: Any = [shop(address, require_approval="never")]
        await caller.connection.response.create(response={"tools": tools})
        await caller.until("response.mcp_call.completed")
        await caller.connection.response.create()
        assert said(await caller.until("response.done", 2)) == "It says sunny in Bonn, 20 C."


class SdkRtcCaller(RtcCaller):
    """Makes its call by the SDK; what goes over the data channel is of the SDK's types, both ways."""

    async def connect(self, session: dict[str, Any] | None = None, **headers: str) -> None:
        sdk = AsyncOpenAI(api_key="none", base_url=f"{self.http.base_url}/v1")
        answer = await sdk.realtime.calls.create(sdp=await self.offer(), session=session)  # type: ignore[arg-type]
        await self.peer.setRemoteDescription(RTCSessionDescription(answer.text, "answer"))
        await self.until("session.created")

    def send(self, **event: Any) -> None:
        self.channel.send(client_event(**event))

    async def until(self, kind: str, number: int = 1) -> dict[str, Any]:
        return proved(await super().until(kind, number))


async def test_over_webrtc_the_sdk_approves_a_tool_the_agent_speaks_of(both: tuple[str, str]) -> None:
    address, ours = both
    session = {"type": "realtime", "model": "gpt-realtime", "tools": [shop(address)]}
    async with rtc_calling(ours, session, SdkRtcCaller) as caller:
        await caller.until("mcp_list_tools.completed")
        caller.send(type="conversation.item.create", item=ASK)
        caller.send(type="response.create")
        (request,) = (await caller.until("response.done"))["response"]["output"]
        assert (request["type"], request["name"]) == ("mcp_approval_request", "weather")
        assert not caller.of("response.mcp_call.in_progress")
        approval = {"type": "mcp_approval_response", "approve": True, "id": "item_of_the_client"}
        approval["approval_request_id"] = request["id"]
        caller.send(type="conversation.item.create", item=approval)
        await caller.until("response.mcp_call.completed")
        caller.send(type="response.create")
        assert said(await caller.until("response.done", 2)) == "It says sunny in Bonn, 20 C."
        await caller.until_sound(0.5)


async def test_a_server_that_dies_fails_the_tool_and_the_call_goes_on(tmp_path: Path) -> None:
    async with (
        mcp_server() as (address, process),
        served(mcp_config(tmp_path, address)) as ours,
        calling(ours, tools=[shop(address, require_approval="never")]) as caller,
    ):
        await caller.until("mcp_list_tools.completed")
        process.kill()
        await process.wait()
        await ask(caller)
        await caller.until("response.mcp_call.failed")
        await caller.connection.response.create()
        assert "it cannot be reached" in said(await caller.until("response.done", 2))


@pytest.mark.parametrize("way", ["url", "command"])
async def test_an_agent_has_the_tools_of_a_configured_server(tmp_path: Path, way: str) -> None:
    async with mcp_server() as (address, _):
        program = f'command = "{sys.executable}"\nargs = ["{mcp_servers.__file__}", "stdio"]'
        place = f'url = "{address}/mcp"' if way == "url" else program
        chosen = 'allowed_tools = ["weather"]\narguments = { unit = "F" }'
        table = f'[[agent.mcp]]\nlabel = "shop"\n{place}\n{chosen}\n'
        async with served(mcp_config(tmp_path, more=table)) as ours, calling(ours) as caller:
            await ask(caller)
            await caller.until("response.done", 2)  # the agent speaks of the result by itself
            assert said(caller.of("response.done")[1]) == "It says sunny in Bonn, 20 F."
