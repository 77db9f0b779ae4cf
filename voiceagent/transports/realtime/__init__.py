"""The OpenAI Realtime API (GA): its events (`protocol`, pure) and the WebSocket end (`websocket`).

Protocol: https://platform.openai.com/docs/api-reference/realtime, and the models in `openai.types.realtime`.
"""
