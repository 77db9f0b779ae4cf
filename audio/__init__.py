"""Audio: formats, voice activity, endpointing, playout, recognizers and synthesizers.

Independent of calls, LLMs, sockets and processes. An engine that blocks is a plain class; the caller runs it
off the event loop.
"""
