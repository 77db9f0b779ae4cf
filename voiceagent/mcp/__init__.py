"""MCP servers: which ones calls may reach, connections that all calls share, and what comes over them.

`policies` are pure. A process has one `pool`, over `shared_connections`; `connection` alone knows the `mcp`
SDK, which is imported where servers are configured or allowed.
"""
