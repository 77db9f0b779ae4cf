"""Calls whose core is a server of the Realtime API: it hears, answers and speaks in place of engines here.

`conversation` (pure) says what its events and the client's requests come to, in the words of
`voiceagent.conversation`; `call` is a `Call` as transports know it; `connection` is the way there.
"""
