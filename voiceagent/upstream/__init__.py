"""Calls whose core is a remote realtime backend (a server of the Realtime API) instead of local engines.

`conversation` translates its events and the client's requests into the types of `voiceagent.conversation`;
`call` is a `Call` for transports; `connection` is the network connection.
"""
