"""OpenAI's Live API: one continuous conversation per session, over WebSocket."""
