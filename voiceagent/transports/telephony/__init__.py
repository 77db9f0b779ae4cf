"""Phone lines: a folder a provider, and what carries calls over WebSocket and TCP.

A folder has the provider's `serializer` (pure), how it proves itself (`signature`, pure), its REST `api`, and
its `line`: the table of the configuration and what is made of it. What providers send and take differs in
words only: `serializer` has the same things in ours. `phone_call` is a call over any of them.
"""
