"""Sound: formats, voice activity, endpointing, playout, recognizers and synthesizers.

Nothing here knows of calls, LLMs or sockets.
"""
