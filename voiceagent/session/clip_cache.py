"""The sounds beside speech that a process keeps, for all its calls."""

from __future__ import annotations

from threading import Lock

from audio.clips import Clip, read_clip

KEPT_BYTES = 128 * 2**20
"""Size of the clips that a process keeps, at all their rates. Calls hold those that they play themselves."""


class ClipCache:
    """Clips by name, of at most `max_bytes` together or a single one. Beyond that, the clip that was not used
    for longest is dropped. It is shared by threads.
    """

    def __init__(self, max_bytes: int = KEPT_BYTES) -> None:
        self._max_bytes = max_bytes
        self._clips: dict[str, Clip] = {}
        self._lock = Lock()

    def find(self, name: str) -> Clip:
        """Return the clip of a name that `check_sound` returned. A file is read once, unless it was dropped.

        Raises OSError if it cannot be read, ValueError if it is no audio or too long.
        """
        found = self._clips.get(name) or read_clip(name)  # without the lock, as reading takes long
        with self._lock:
            found = self._clips.pop(name, found)
            self._clips[name] = found
            size = sum(clip.size_bytes for clip in self._clips.values())
            for oldest in list(self._clips)[:-1]:
                if size <= self._max_bytes:
                    break
                size -= self._clips.pop(oldest).size_bytes
        return found


CLIPS = ClipCache()
"""The clips of this process."""
