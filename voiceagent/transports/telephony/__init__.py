"""Telephony: the providers, one folder each, and calls over WebSocket and TCP.

   A provider's folder has its `serializer` (pure), `signature` (pure; authenticates requests), REST `api`,
and `line`: its configuration table and the `PhoneLine` made from it. Serializers translate each provider's
messages into the events of `stream/serializer`; `phone_call` is one call of any provider.
"""
