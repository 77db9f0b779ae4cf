"""Sidebands: second connections to running calls, for events without audio."""
