#!/usr/bin/env bash
# mcp 2.3.0: of a tool that raises, only the words of the SDK's own ToolError reach the client.
#
# A tool of MCPServer that raises ValueError("no table for nine people") answers the client "Error executing tool book" and nothing
# else. Version 1 (1.28.0) added the words of the exception, from which a model could tell the caller what to change.
# Seen with mcp 2.3.0 and 1.28.0, Python 3.11, server and client in one process. Exits with 0 while that is so.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/new"
"$folder/new/bin/pip" install --quiet mcp==2.3.0
cat > "$folder/new.py" <<'PYTHON'
import asyncio
from importlib.metadata import version
from mcp.client import Client
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

server = MCPServer("tables", log_level="CRITICAL")


@server.tool()
def book() -> str:
    raise ValueError("no table for nine people")


@server.tool()
def book_or_say_why() -> str:
    raise ToolError("no table for nine people")


async def main() -> None:
    async with Client(server) as client:
        plain = await client.call_tool("book", {})
        chosen = await client.call_tool("book_or_say_why", {})
    print(f"mcp {version('mcp')}")
    for name, result in (("ValueError", plain), ("ToolError", chosen)):
        print(f"  {name}: is_error={result.is_error}, text={result.content[0].text!r}")
    assert plain.is_error and "nine people" not in plain.content[0].text
    assert chosen.is_error and "nine people" in chosen.content[0].text


asyncio.run(main())
PYTHON
"$folder/new/bin/python" "$folder/new.py"
python3 -m venv "$folder/old"
"$folder/old/bin/pip" install --quiet mcp==1.28.0
cat > "$folder/old.py" <<'PYTHON'
import asyncio
from importlib.metadata import version
from mcp.server.fastmcp import FastMCP
from mcp.shared.memory import create_connected_server_and_client_session as connect

server = FastMCP("tables", log_level="CRITICAL")


@server.tool()
def book() -> str:
    raise ValueError("no table for nine people")


async def main() -> None:
    async with connect(server._mcp_server) as client:
        result = await client.call_tool("book", {})
    print(f"mcp {version('mcp')}")
    print(f"  ValueError: isError={result.isError}, text={result.content[0].text!r}")
    assert result.isError and "nine people" in result.content[0].text


asyncio.run(main())
PYTHON
"$folder/old/bin/python" "$folder/old.py"
