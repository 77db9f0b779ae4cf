"""Recorded calls: event log, audio recording, store, and replay of a log.

`KeptCall` subscribes to the events of a call (conversation/call_events.py) and buffers them and the audio in
memory. Two threads do the rest, so that no call waits for a disk or a database: `CallWriter` writes logs and
recordings, and `CallArchiver` archives calls that are over. The logs are the source of truth; the store can
be rebuilt from them.
"""
