"""The OpenAI Realtime API (GA): its events (`protocol`, pure), its WebSocket endpoint, and sidebands.

Protocol: https://platform.openai.com/docs/api-reference/realtime, and the models in `openai.types.realtime`.
"""
