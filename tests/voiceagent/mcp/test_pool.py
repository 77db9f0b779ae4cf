"""Connections and lists that calls share, and what becomes of them where servers fail; these are scripted."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from voiceagent.conversation.mcp import ListedTool, McpError, McpServer, ToolFilter
from voiceagent.mcp.config import McpConfig, McpFailed, McpServerConfig, Target
from voiceagent.mcp.pool import McpPool
from voiceagent.mcp.shared_connections import REFRESH_INTERVAL_S
from voiceagent.validation.errors import ConfigError

URL = "https://shop.example/mcp"
SERVER = McpServer("shop", URL)
LOOK = ListedTool("look", "", {"properties": {"what": {}, "tenant": {}}, "required": ["what", "tenant"]})
ORDER = ListedTool("order", "")


@dataclass
class Scripted:
    """A connection that answers at once, or as instructed."""

    target: Target
    changed: Callable[[], None]
    tools: tuple[ListedTool, ...] | Exception = (LOOK, ORDER)
    lists: int = 0
    closed: bool = False
    called: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    waits: asyncio.Event | None = None
    fails: McpFailed | None = None

    async def list_tools(self) -> tuple[ListedTool, ...]:
        self.lists += 1
        if self.waits is not None:
            await self.waits.wait()
        if isinstance(self.tools, Exception):
            raise self.tools
        return self.tools

    async def call(self, name: str, arguments: Mapping[str, Any]) -> str:
        self.called.append((name, dict(arguments)))
        if self.waits is not None:
            await self.waits.wait()
        if self.fails is not None:
            raise self.fails
        return f"{name} done"

    async def read(self, uri: str) -> tuple[str, ...]:
        return (f"read {uri}",)

    async def close(self) -> None:
        self.closed = True


class World:
    """A pool, its connections, and its clock."""

    def __init__(self, *servers: McpServerConfig, **config: Any) -> None:
        self.made: list[Scripted] = []
        self.now_s = 0.0
        self.next: dict[str, Any] = {}
        table = McpConfig(allowed_urls=(URL, "https://other.example")).model_copy(update=config)
        environ = {"TOKEN": "s3cret"}
        source = Path("test.toml")
        self.pool = McpPool(table, servers, environ, source, self._connect, lambda: self.now_s)

    def _connect(self, target: Target, config: McpConfig, changed: Callable[[], None]) -> Scripted:
        self.made.append(Scripted(target, changed, **self.next))
        return self.made[-1]


async def test_calls_share_a_connection_and_a_list() -> None:
    world = World()
    await asyncio.gather(*(world.pool.tools(SERVER) for _ in range(5)))
    assert await world.pool.call(SERVER, "look", '{"what": "tea"}') == "look done"
    (made,) = world.made
    assert made.lists == 1
    assert made.called == [("look", {"what": "tea"})]


async def test_other_headers_are_another_connection() -> None:
    world = World()
    await world.pool.tools(SERVER)
    await world.pool.tools(McpServer("shop", URL, (("X-Key", "1"),)))
    assert len(world.made) == 2


async def test_an_old_list_is_given_and_renewed_behind_the_scenes() -> None:
    world = World(list_ttl_s=10.0)
    await world.pool.tools(SERVER)
    (made,) = world.made
    made.tools, world.now_s = (LOOK,), 11.0
    assert await world.pool.tools(SERVER) == (LOOK, ORDER)
    await asyncio.sleep(0)
    assert await world.pool.tools(SERVER) == (LOOK,)
    assert made.lists == 2


async def test_a_call_that_fails_has_the_list_renewed_now_and_then() -> None:
    world = World()
    await world.pool.tools(SERVER)
    (made,) = world.made
    made.tools = (LOOK,)
    made.fails = McpFailed(McpError("tool_execution_error", "Unknown tool: order"))
    for now_s, lists in (
        (REFRESH_INTERVAL_S - 1, 1),
        (REFRESH_INTERVAL_S, 2),
        (REFRESH_INTERVAL_S + 1, 2),
        (2 * REFRESH_INTERVAL_S, 3),
    ):
        world.now_s = now_s
        with pytest.raises(McpFailed, match="Unknown tool"):
            await world.pool.call(SERVER, "order", "")
        await asyncio.sleep(0)
        assert made.lists == lists
    assert await world.pool.tools(SERVER) == (LOOK,)


async def test_a_server_whose_call_was_given_up_is_asked_for_its_list() -> None:
    world = World()
    await world.pool.tools(SERVER)
    (made,) = world.made
    made.waits, world.now_s = asyncio.Event(), REFRESH_INTERVAL_S
    calling = asyncio.create_task(world.pool.call(SERVER, "order", ""))
    await asyncio.sleep(0)
    calling.cancel()
    with pytest.raises(asyncio.CancelledError):
        await calling
    await asyncio.sleep(0)
    assert made.lists == 2


async def test_a_server_that_says_so_has_its_list_renewed_once_for_many_words() -> None:
    world = World()
    await world.pool.tools(SERVER)
    (made,) = world.made
    made.tools = (LOOK,)
    for _ in range(100):
        made.changed()
    await asyncio.sleep(0.01)
    assert made.lists == 2
    assert await world.pool.tools(SERVER) == (LOOK,)
    made.changed()  # at once again: it waits
    await asyncio.sleep(0.01)
    assert made.lists == 2
    await world.pool.close()


async def test_tools_that_change_while_they_are_told_are_asked_for_again() -> None:
    world = World()
    world.next = {"waits": asyncio.Event()}
    asking = asyncio.create_task(world.pool.tools(SERVER))
    await asyncio.sleep(0)
    (made,) = world.made
    made.changed()
    await asyncio.sleep(0.01)
    made.waits.set()  # type: ignore[union-attr]
    await asking
    await asyncio.sleep(0.01)
    assert made.lists == 2


async def test_a_server_that_cannot_be_reached_is_not_asked_for_its_list() -> None:
    world = World()
    await world.pool.tools(SERVER)
    (made,) = world.made
    made.fails, world.now_s = McpFailed(McpError("http_error", "it cannot be reached", 502)), 60.0
    with pytest.raises(McpFailed, match="cannot be reached"):
        await world.pool.call(SERVER, "order", "")
    await asyncio.sleep(0)
    assert made.lists == 1


async def test_a_list_that_failed_is_asked_for_again() -> None:
    world = World()
    world.next = {"tools": TimeoutError()}
    with pytest.raises(McpFailed, match="does not answer"):
        await world.pool.tools(SERVER)
    world.made[0].tools = (LOOK,)
    assert await world.pool.tools(SERVER) == (LOOK,)


async def test_a_silent_server_keeps_no_other_from_being_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("voiceagent.mcp.pool.RETRY_S", 0.0)
    servers = [McpServerConfig(label=label, url=f"https://{label}.example") for label in ("silent", "shop")]
    world = World(*servers)
    world.next = {"tools": TimeoutError()}
    await world.pool.start()
    silent, shop = world.made
    silent.waits, shop.tools = asyncio.Event(), (LOOK,)
    while not world.pool.configured():  # noqa: ASYNC110 - it tells nobody
        await asyncio.sleep(0)
    await world.pool.close()


async def test_a_list_goes_on_though_one_who_waits_gives_up() -> None:
    world = World()
    world.next = {"waits": asyncio.Event()}
    given_up = asyncio.create_task(world.pool.tools(SERVER))
    waiting = asyncio.create_task(world.pool.tools(SERVER))
    await asyncio.sleep(0)
    given_up.cancel()
    await asyncio.sleep(0)
    world.made[0].waits.set()  # type: ignore[union-attr]
    assert await waiting == (LOOK, ORDER)


async def test_more_tools_than_allowed_are_refused_and_chosen_among() -> None:
    world = World(max_tools=1)
    with pytest.raises(McpFailed, match="allowed_tools chooses"):
        await world.pool.tools(SERVER)
    assert await world.pool.tools(McpServer("shop", URL, allowed=ToolFilter(("look",)))) == (LOOK,)


async def test_the_connection_unused_for_longest_makes_room() -> None:
    world = World(max_connections=2)
    for number in range(3):
        world.now_s = number
        await world.pool.tools(McpServer("shop", URL, (("X-Key", str(number)),)))
    await asyncio.sleep(0)
    assert [made.closed for made in world.made] == [True, False, False]


async def test_connections_in_use_are_not_closed_and_one_more_is_refused() -> None:
    world = World(max_connections=1)
    world.next = {"waits": asyncio.Event()}
    calling = asyncio.create_task(world.pool.call(SERVER, "look", ""))
    await asyncio.sleep(0)
    with pytest.raises(McpFailed, match="too many"):
        await world.pool.tools(McpServer("other", "https://other.example"))
    world.made[0].waits.set()  # type: ignore[union-attr]
    assert await calling == "look done"


@pytest.mark.parametrize("arguments", ["[1]", "tea", "{"])
async def test_arguments_that_are_no_object_are_refused_in_words(arguments: str) -> None:
    world = World()
    with pytest.raises(McpFailed, match="no JSON object"):
        await world.pool.call(SERVER, "look", arguments)
    assert not world.made


def test_sessions_may_name_what_the_list_has_and_nothing_else() -> None:
    world = World()
    assert world.pool.refusal(SERVER) is None
    assert "not among" in (world.pool.refusal(McpServer("evil", "https://evil.example/mcp")) or "")


def test_sessions_may_name_nothing_where_no_url_is_allowed() -> None:
    pool = McpPool(McpConfig(), (), {}, Path("test.toml"))
    assert "mcp.allowed_urls" in (pool.refusal(SERVER) or "")


# ---- servers of the configuration

CONFIGURED = McpServerConfig(label="crm", url="https://crm.internal", arguments={"tenant": "7"})


async def test_configured_tools_are_offered_without_their_fixed_arguments() -> None:
    world = World(CONFIGURED)
    await world.pool.start()
    look, order = world.pool.configured()
    assert (look.mcp.tool.name, order.mcp.tool.name) == ("look", "order")
    assert look.mcp.tool.parameters == {"properties": {"what": {}}, "required": ["what"]}
    await world.pool.call_configured(look, '{"what": "tea", "tenant": "8"}')
    assert world.made[0].called == [("look", {"what": "tea", "tenant": "7"})]
    await world.pool.close()
    assert world.made[0].closed


async def test_a_configured_server_that_does_not_answer_hinders_no_start() -> None:
    world = World(CONFIGURED)
    world.next = {"tools": McpFailed(McpError("http_error", "it cannot be reached", 502))}
    await world.pool.start()
    assert world.pool.configured() == []
    await world.pool.close()


async def test_a_configured_server_may_be_anywhere_and_its_secrets_are_variables() -> None:
    crm = McpServerConfig(label="crm", url="http://10.0.0.7/mcp", headers_env={"Authorization": "TOKEN"})
    world = World(crm)
    await world.pool.start()
    target = world.made[0].target
    assert (target.reach, target.headers) == (None, (("Authorization", "s3cret"),))
    assert "s3cret" not in repr(target)
    await world.pool.close()


def test_a_variable_that_is_not_set_is_named() -> None:
    crm = McpServerConfig(label="crm", url="https://crm.internal", headers_env={"X-Key": "MISSING"})
    with pytest.raises(ConfigError, match=r"agent\.mcp\.crm = 'MISSING'.*not set"):
        World(crm)


def test_two_servers_of_one_label_are_refused() -> None:
    with pytest.raises(ConfigError, match="labels must differ"):
        World(CONFIGURED, CONFIGURED)
