"""MCP servers: access rules, shared connections, and limits of their tools and results.

`policies` are pure. A process has one `pool`, over `shared_connections`; only `connection` uses the `mcp`
SDK, which is imported if servers are configured or allowed.
"""
