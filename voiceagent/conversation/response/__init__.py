"""The agent's response: its phases, the tools it calls, and what was played of it."""
