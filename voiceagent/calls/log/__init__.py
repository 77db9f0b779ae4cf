"""The log of a call: writing, reading, the position of audio in its recording, and its timeline. Pure."""
