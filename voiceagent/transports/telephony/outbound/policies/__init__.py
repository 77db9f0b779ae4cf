"""Decisions about outbound calls, as functions of records and of time."""
