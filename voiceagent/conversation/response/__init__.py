"""The agent's response: its phases, its tool calls, and the part that was played."""
