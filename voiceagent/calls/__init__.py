"""Recorded calls: event log, audio recording, store, and replay of a log.

A session notifies a `Keeping` (session/keeping.py); `KeptCall` is one, and buffers in memory. Two threads do
the rest, so that no call waits for a disk or a database: `CallWriter` writes logs and recordings, and
`CallArchiver` archives calls that are over. The logs are the source of truth; the store can be rebuilt from
them.
"""
