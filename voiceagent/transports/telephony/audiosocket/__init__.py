"""Asterisk's AudioSocket, over TCP."""
