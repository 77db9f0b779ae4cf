"""Replay of a logged call: as it was (`replay`), or as it would have been otherwise (`fork`). Pure."""
