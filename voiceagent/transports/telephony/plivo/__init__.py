"""Plivo audio streaming."""
