"""The caller's turn: its phases, its transcript and its endpointing delay."""
