"""Calls that are kept: the event log, the recording, the store, and the replay of a log.

A session tells a `Keeping` what happens (session/keeping.py); `KeptCall` is one, and holds it in memory. Two
threads do the rest, so that no call waits for a disk or a database: `CallWriter` writes logs and recordings,
and `Librarian` puts calls that are over on record. The logs are the truth; the store can be made from them.
"""
