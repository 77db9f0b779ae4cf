"""Traces of calls, and metrics, sent by OTLP over HTTP.

`trace` makes spans from the events of a call (pure), `traced_call` feeds it, and `exporter` sends the spans
in a thread of its own. The latter two need the extra `otlp`.
"""
