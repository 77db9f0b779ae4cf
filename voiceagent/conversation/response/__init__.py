"""The agent's response: its phases, and what was played of it."""
