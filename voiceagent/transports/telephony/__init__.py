"""Telephony: a file for each provider, and calls over WebSocket and TCP.

A provider's file has its serializer, its signatures, its REST API, and its configuration table, which makes
the `PhoneLine`. Serializers translate each provider's messages into the events of `stream/serializer`;
`phone_call` is one call of any provider.
"""
