"""Access to MCP servers, and limits of what they return."""
