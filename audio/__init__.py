"""Sound: formats, voice activity, endpointing, playout, recognizers and synthesizers.

Nothing here knows of calls, LLMs, sockets or processes. An engine that blocks is a plain class; whoever uses
it runs it where blocking hurts nobody.
"""
