"""Calls as traces, and the metrics, sent by OTLP over HTTP.

`trace` makes spans of what happens in a call (pure); `traced_call` tells it what happens, `exporter` sends
them, in a thread of its own. These two need the extra `otlp`.
"""
