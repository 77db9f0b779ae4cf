"""Which MCP servers sessions may reach, and how much of what these give comes into a call. Pure."""
