"""Connections to a real MCP server, the `mcp` SDK's own in a process of its own."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import mcp_servers
import psutil
import pytest
from hostile_mcp import hostile_mcp
from mcp_servers import mcp_server
from structlog.testing import capture_logs

from voiceagent.mcp.config import McpConfig, McpFailed, Target
from voiceagent.mcp.connection import Connection
from voiceagent.mcp.reach import Reach
from voiceagent.mcp.results import MAX_LISTED, TooMuch

CONFIG = McpConfig().model_copy(update={"connect_s": 20.0, "max_response_bytes": 200_000})
STDIO = Target(command=sys.executable, args=(mcp_servers.__file__, "stdio"))


@asynccontextmanager
async def connected(
    target: Target, config: McpConfig = CONFIG, changed: Callable[[], None] = lambda: None
) -> AsyncIterator[Connection]:
    connection = Connection(target, config, changed)
    try:
        yield connection
    finally:
        await connection.close()


@pytest.mark.parametrize("way", ["http", "stdio"])
async def test_tools_are_listed_and_called(way: str) -> None:
    async with mcp_server() as (address, _):
        target = Target(f"{address}/mcp", reach=Reach((address,))) if way == "http" else STDIO
        async with connected(target) as connection:
            tools = {tool.name: tool for tool in await connection.list_tools()}
            assert tools["weather"].read_only
            assert not tools["order"].read_only
            assert tools["weather"].schema["required"] == ["city"]
            assert await connection.call("weather", {"city": "Bonn"}) == "sunny in Bonn, 20 C"


@pytest.mark.parametrize("way", ["shop", "old", "stdio"])
async def test_a_server_that_has_other_tools_now_says_so(way: str) -> None:
    changed = asyncio.Event()
    async with mcp_server("old" if way == "old" else "shop") as (address, _):
        target = STDIO if way == "stdio" else Target(f"{address}/mcp")
        async with connected(target, changed=changed.set) as connection:
            await connection.list_tools()
            await asyncio.sleep(0.5)  # until its stream is open, of which nobody is told
            assert await connection.call("restock", {}) == "done"
            async with asyncio.timeout(20):
                await changed.wait()
            assert "order_tea" in {tool.name for tool in await connection.list_tools()}


async def test_a_resource_is_read() -> None:
    async with connected(STDIO) as connection:
        assert await connection.read("kb://search/the%20pool") == ("the manual on the pool: open from seven",)


async def test_a_tool_that_fails_says_why_in_words() -> None:
    async with mcp_server() as (address, _), connected(Target(f"{address}/mcp")) as connection:
        for name, arguments, words in (
            ("sell_out", {}, "sell_out"),
            ("weather", {}, "city"),
            ("dance", {}, "Unknown tool"),
        ):
            with pytest.raises(McpFailed, match=words) as failed:
                await connection.call(name, arguments)
            assert failed.value.error.kind == "tool_execution_error"


async def test_an_answer_of_megabytes_fails_alone(caplog: pytest.LogCaptureFixture) -> None:
    async with mcp_server() as (address, _), connected(Target(f"{address}/mcp")) as connection:
        order = asyncio.create_task(connection.call("order", {"what": "tea"}))
        with pytest.raises(McpFailed) as failed:
            await connection.call("recite", {"characters": 3_000_000})
        assert failed.value.error.kind == "protocol_error"
        assert await order == "1 ordered: tea"
        assert await connection.call("order", {"what": "tea"}) == "2 ordered: tea"
    assert not caplog.records


async def test_a_long_result_is_cut_and_says_so() -> None:
    config = McpConfig().model_copy(update={"connect_s": 20.0, "max_result_characters": 1_000})
    async with mcp_server() as (address, _), connected(Target(f"{address}/mcp"), config) as connection:
        result = await connection.call("recite", {"characters": 20_000})
    assert len(result) == 1_000
    assert result.endswith("[cut here: 20000 characters in all]")


async def test_a_tool_that_hangs_is_given_up_and_the_connection_serves_others() -> None:
    async with mcp_server() as (address, _), connected(Target(f"{address}/mcp")) as connection:
        hanging = asyncio.create_task(connection.call("hang", {}))
        assert await connection.call("weather", {"city": "Bonn"})
        hanging.cancel()
        with pytest.raises(asyncio.CancelledError):
            await hanging
        assert await connection.call("weather", {"city": "Bonn"})


async def test_a_server_that_dies_fails_the_call_and_comes_back() -> None:
    async with mcp_server() as (address, process):
        connection = Connection(Target(f"{address}/mcp"), CONFIG)
        assert await connection.call("order", {"what": "tea"}) == "1 ordered: tea"
        with pytest.raises(McpFailed, match="cannot be reached"):
            await connection.call("die", {})
        await process.wait()
        with pytest.raises(McpFailed, match="cannot be reached"):
            await connection.call("order", {"what": "tea"})
    async with mcp_server(port=urlsplit(address).port or 0):
        assert await connection.call("order", {"what": "tea"}) == "1 ordered: tea"
        await connection.close()


async def test_a_session_that_the_server_has_forgotten_is_begun_anew() -> None:
    async with mcp_server("old") as (address, _):
        connection = Connection(Target(f"{address}/mcp"), CONFIG)
        assert await connection.call("order", {"what": "tea"}) == "1 ordered: tea"
    async with mcp_server("old", urlsplit(address).port or 0):
        assert await connection.call("order", {"what": "tea"}) == "1 ordered: tea"
        await connection.close()


async def test_where_a_forgotten_session_is_a_bad_request_a_failed_list_has_it_begun_anew() -> None:
    async with mcp_server("bad_request") as (address, _):
        connection = Connection(Target(f"{address}/mcp"), CONFIG)
        assert await connection.call("order", {"what": "tea"}) == "1 ordered: tea"
    async with mcp_server("bad_request", urlsplit(address).port or 0):
        for ask in (connection.call("order", {"what": "tea"}), connection.list_tools()):
            with pytest.raises(McpFailed, match="Session not found"):
                await ask
        assert await connection.call("order", {"what": "tea"}) == "1 ordered: tea"
        await connection.close()


async def test_a_server_that_was_away_for_long_is_heard_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("voiceagent.mcp.connection.RELISTEN_S", (0.2, 0.2))
    changed = asyncio.Event()
    async with mcp_server() as (address, _):
        connection = Connection(Target(f"{address}/mcp"), CONFIG, changed.set)
        await connection.list_tools()
    for _ in range(2):  # nobody answers
        changed.clear()
        async with asyncio.timeout(20):
            await changed.wait()
    async with mcp_server(port=urlsplit(address).port or 0):
        await connection.list_tools()
        await asyncio.sleep(1.0)  # until its stream is open, of which nobody is told
        changed.clear()
        assert await connection.call("restock", {}) == "done"
        async with asyncio.timeout(20):
            await changed.wait()
        await connection.close()


async def test_a_server_that_takes_no_notification_is_asked_all_the_same() -> None:
    config = McpConfig().model_copy(update={"connect_s": 2.0})
    async with hostile_mcp() as address, connected(Target(f"{address}/deaf"), config) as connection:
        hanging = asyncio.create_task(connection.call("hang", {}))
        assert await connection.call("weather", {}) == "sunny"
        hanging.cancel()
        with pytest.raises(asyncio.CancelledError):
            await hanging
        async with asyncio.timeout(20):
            assert await connection.call("weather", {}) == "sunny"


async def test_a_program_that_dies_fails_the_call_and_is_started_again() -> None:
    async with connected(STDIO) as connection:
        assert await connection.call("order", {"what": "tea"}) == "1 ordered: tea"
        with pytest.raises(McpFailed, match="connection to it was lost"):
            await connection.call("die", {})
        assert await connection.call("order", {"what": "tea"}) == "1 ordered: tea"


async def test_a_programs_line_that_is_no_message_is_told_in_one(caplog: pytest.LogCaptureFixture) -> None:
    command = ("-c", 'echo looking it up; exec "$0" "$@"', STDIO.command, *STDIO.args)
    with capture_logs() as told:
        async with connected(Target(command="sh", args=command)) as connection:
            assert await connection.list_tools()
    (line,) = told
    assert (line["event"], line["written"].value) == ("mcp_invalid_line", "looking it up")
    assert not caplog.records


async def test_a_program_that_hangs_is_ended_and_started_again() -> None:
    async with connected(STDIO) as connection:
        assert await connection.call("order", {"what": "tea"}) == "1 ordered: tea"
        (program,) = [
            child for child in psutil.Process().children() if "mcp_servers" in " ".join(child.cmdline())
        ]
        program.suspend()
        connection._config = CONFIG.model_copy(update={"connect_s": 0.5})
        with pytest.raises(TimeoutError):
            await connection.list_tools()
        connection._config = CONFIG
        assert await connection.call("order", {"what": "tea"}) == "1 ordered: tea"  # it knows of none
        await asyncio.to_thread(program.wait, 20)


async def test_a_program_that_answered_while_the_server_was_suspended_goes_on() -> None:
    async with connected(STDIO) as connection:
        assert await connection.call("order", {"what": "tea"}) == "1 ordered: tea"
        connection._config = CONFIG.model_copy(update={"connect_s": 1.0})
        listing = asyncio.create_task(connection.list_tools())
        for _ in range(10):
            await asyncio.sleep(0)  # until it is asked
        time.sleep(1.5)  # noqa: ASYNC251
        assert await listing
        assert await connection.call("order", {"what": "tea"}) == "2 ordered: tea"


async def test_a_program_that_is_busy_with_a_tool_is_not_taken_for_hanging() -> None:
    async with connected(STDIO) as connection:
        assert await connection.call("order", {"what": "tea"}) == "1 ordered: tea"
        connection._config = CONFIG.model_copy(update={"connect_s": 0.5})
        busy = asyncio.create_task(connection.call("count", {"seconds": 2.0}))
        await asyncio.sleep(0)  # it is asked first
        assert await connection.list_tools()
        assert await busy == "counted"
        assert await connection.call("order", {"what": "tea"}) == "2 ordered: tea"


async def give_up_counting(connection: Connection, seconds: float) -> None:
    """Call a tool that blocks its program for so long, and give it up once it has begun."""
    busy = asyncio.create_task(connection.call("count", {"seconds": seconds}))
    await asyncio.sleep(0.2)  # it has begun by then
    busy.cancel()
    with pytest.raises(asyncio.CancelledError):
        await busy


async def test_a_program_that_is_busy_with_what_was_given_up_is_not_taken_for_hanging() -> None:
    async with connected(STDIO) as connection:
        assert await connection.call("order", {"what": "tea"}) == "1 ordered: tea"
        connection._config = CONFIG.model_copy(update={"connect_s": 0.2, "timeout_s": 20.0})
        await give_up_counting(connection, 2.0)
        assert await connection.list_tools()
        assert await connection.call("order", {"what": "tea"}) == "2 ordered: tea"


async def test_a_program_that_never_ends_what_was_given_up_is_ended() -> None:
    async with connected(STDIO) as connection:
        assert await connection.call("order", {"what": "tea"}) == "1 ordered: tea"
        connection._config = CONFIG.model_copy(update={"connect_s": 0.2, "timeout_s": 0.5})
        await give_up_counting(connection, 600.0)
        with pytest.raises(TimeoutError):
            await connection.list_tools()
        connection._config = CONFIG
        assert await connection.call("order", {"what": "tea"}) == "1 ordered: tea"


async def test_a_program_that_is_not_there_fails_in_words() -> None:
    async with connected(Target(command="/nowhere/server")) as connection:
        with pytest.raises(McpFailed, match="cannot be reached"):
            await connection.list_tools()


@pytest.mark.parametrize("path", ["elsewhere", "admin"])
async def test_a_redirect_leads_nowhere_that_is_not_allowed(path: str) -> None:
    async with mcp_server() as (address, _):
        target = Target(f"{address}/{path}", reach=Reach((f"{address}/{path}",)))
        async with connected(target) as connection:
            with pytest.raises(McpFailed) as failed:
                await connection.list_tools()
        assert "secret" not in str(failed.value) or "not among" in str(failed.value)


async def test_a_name_of_a_private_address_is_refused_when_it_is_reached() -> None:
    async with mcp_server() as (address, _):
        url = address.replace("127.0.0.1", "localhost.localdomain")
        async with connected(Target(f"{url}/mcp", reach=Reach((url,)))) as connection:
            with pytest.raises(McpFailed):
                await connection.list_tools()


async def test_a_server_of_too_many_tools_is_refused() -> None:
    config = McpConfig().model_copy(update={"connect_s": 20.0, "max_response_bytes": 10_000_000})
    async with (
        mcp_server("crowd") as (address, _),
        connected(Target(f"{address}/mcp"), config) as connection,
    ):
        with pytest.raises(TooMuch, match=f"over {MAX_LISTED} tools"):
            await connection.list_tools()
