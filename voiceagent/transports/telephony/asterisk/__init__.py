"""Asterisk's chan_websocket."""
