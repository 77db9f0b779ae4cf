"""Hostile MCP servers, and clients that name forbidden ones: the tool fails and the call continues."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from hostile_mcp import hostile_mcp
from mcp_config import mcp_config
from sdk_caller import SdkCaller, calling
from served import served

ASK: Any = {
    "type": "message",
    "role": "user",
    "content": [{"type": "input_text", "text": "How is the weather?"}],
}


class Place:
    """Our server, and the hostile one that it may reach."""

    def __init__(self, ours: str, hostile: str) -> None:
        self.ours = ours
        self.hostile = hostile

    def tools(self, kind: str) -> list[dict[str, Any]]:
        return [
            {
                "type": "mcp",
                "server_label": kind,
                "server_url": f"{self.hostile}/{kind}",
                "require_approval": "never",
            }
        ]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def place(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Place]:
    folder: Path = tmp_path_factory.mktemp("mcp")
    async with hostile_mcp() as hostile:
        config = mcp_config(folder, hostile)
        async with served(config) as ours:
            yield Place(ours, hostile)


pytestmark = pytest.mark.asyncio(loop_scope="module")


async def still_answers(caller: SdkCaller, number: int) -> None:
    """Assert that the call continues, without tools."""
    await caller.connection.session.update(session={"type": "realtime", "tools": []})
    await caller.connection.conversation.item.create(item=ASK)
    await caller.connection.response.create()
    assert (await caller.until("response.done", number))["response"]["status"] == "completed"


@pytest.mark.parametrize("kind", ["pages", "schemas", "silent", "garbage", "redirect", "flood"])
async def test_a_list_that_does_harm_fails_and_the_call_goes_on(place: Place, kind: str) -> None:
    async with calling(place.ours, tools=place.tools(kind)) as caller:
        await caller.until("mcp_list_tools.failed")
        assert f"{kind!r}" in (await caller.until("error"))["error"]["message"]
        await still_answers(caller, 1)


@pytest.mark.parametrize("kind", ["hangs", "megabytes", "nonsense"])
async def test_a_tool_that_does_harm_fails_and_the_call_goes_on(place: Place, kind: str) -> None:
    async with calling(place.ours, tools=place.tools(kind)) as caller:
        await caller.until("mcp_list_tools.completed")
        await caller.connection.conversation.item.create(item=ASK)
        await caller.connection.response.create()
        await caller.until("response.mcp_call.failed")
        failed = (await caller.until("response.output_item.done"))["item"]
        assert len(failed["error"]["message"]) < 1_000
        await still_answers(caller, 2)


async def test_a_result_beyond_the_budget_is_cut(place: Place) -> None:
    async with calling(place.ours, tools=place.tools("long")) as caller:
        await caller.until("mcp_list_tools.completed")
        await caller.connection.conversation.item.create(item=ASK)
        await caller.connection.response.create()
        await caller.until("response.mcp_call.completed")
        called = (await caller.until("response.output_item.done"))["item"]
        assert len(called["output"]) == 8_000
        assert called["output"].endswith("[cut here: 500000 characters in all]")


@pytest.mark.parametrize(
    "url",
    [
        "http://169.254.169.254/latest/meta-data/",
        "http://127.0.0.1:1/mcp",
        "http://localhost:6379/",
        "http://[::1]/mcp",
        "http://10.0.0.1/mcp",
        "file:///etc/passwd",
        "https://user:word@shop.example/mcp",
    ],
)
async def test_what_is_not_on_the_list_is_refused_at_once(place: Place, url: str) -> None:
    tool = {"type": "mcp", "server_label": "evil", "server_url": url}
    async with calling(place.ours) as caller:
        update: Any = {"type": "realtime", "tools": [tool]}
        await caller.connection.session.update(session=update)
        refused = (await caller.until("error"))["error"]
        assert (refused["code"], refused["param"]) == ("invalid_value", "session.tools")
        assert not caller.of("mcp_list_tools.in_progress")
        await still_answers(caller, 1)
