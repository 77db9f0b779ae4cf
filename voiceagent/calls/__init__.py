"""Calls that are kept: the event log, the recording, the store, and the replay of a log."""
