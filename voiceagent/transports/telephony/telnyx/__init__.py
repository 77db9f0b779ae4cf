"""Telnyx media streaming."""
