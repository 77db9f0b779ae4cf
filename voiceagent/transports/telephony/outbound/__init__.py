"""Outbound calls: `POST /v1/calls` asks a telephony provider to call a number and to connect an agent.

`policies/` is pure: the allow list and its limits, the status of a call, campaigns. `carriers/` has a file
for each provider: its request, and the webhooks that report the status. The `store` is a SQLite file that all
processes of a server share; the `dialer` is the shell around it, the `endpoint` its HTTP interface.
"""
