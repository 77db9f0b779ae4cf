"""Policies in front of an engine: who is computed next, who is let in, who stands in."""
