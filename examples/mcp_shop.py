"""An MCP server with one tool, run as a program: `pip install 'voiceagent-server[mcp]'`.

`mcp.toml` names it; the agent there has its tool in every call.
"""

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

ORDERS = {"4821": "on its way, and comes on Thursday"}

shop = MCPServer("shop", log_level="WARNING")


@shop.tool()
async def find_order(number: str) -> str:
    """Find an order by its number of four digits."""
    if number not in ORDERS:
        # the model sees only the text of a ToolError
        raise ToolError(f"there is no order {number}; ask the caller to say the number again")
    return f"order {number} is {ORDERS[number]}"


if __name__ == "__main__":
    shop.run("stdio")
