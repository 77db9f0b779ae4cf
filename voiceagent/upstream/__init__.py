"""Calls whose core is a remote backend (a server of the Realtime or Live API) instead of local engines.

`conversation` translates its events and the client's requests into the types of `voiceagent.conversation`;
`api` translates another API's events to the Realtime API's; `call` is a `Call` for transports; `connection`
is the network connection.
"""
