"""Vonage Voice WebSockets."""
