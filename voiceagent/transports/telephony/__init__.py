"""The phone line: a pure serializer a provider, and the ends that carry calls over WebSocket and TCP.

What providers send and take differs in words only: `line` has the same things in ours. `phone_call` is a call
over any of them.
"""
