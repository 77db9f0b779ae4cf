"""Prints and plays a call while it runs: words of both sides as they come, the agent's audio by a player."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from audio.pcm import Samples
from voiceagent.telemetry.log import printable
from voiceagent.transports.local_call import FORMAT, CallListener

_RATE = str(FORMAT.rate_hz)
PLAYERS = (
    ("paplay", "--raw", "--format=s16le", f"--rate={_RATE}", "--channels=1"),
    ("aplay", "-q", "-t", "raw", "-f", "S16_LE", "-r", _RATE, "-c", "1"),
    ("ffplay", "-nodisp", "-autoexit", "-loglevel", "error", "-f", "s16le", "-sample_rate", _RATE, "-i", "-"),
    ("play", "-q", "-t", "raw", "-r", _RATE, "-e", "signed", "-b", "16", "-c", "1", "-"),
)
"""Commands that play mono PCM samples from their standard input, in order of preference."""
STARTS_S = 0.4
"""Time within which a player that finds no sound device has given up."""
DRAIN_S = 10.0
"""Maximum time for the rest of the audio after the call."""


class LiveOutput(CallListener):
    """Prints transcripts as they grow. write: prints text without a line end. player: running, or None."""

    def __init__(
        self, write: Callable[[str], None], player: asyncio.subprocess.Process | None = None
    ) -> None:
        self._write = write
        self._player = player
        self._speaker = ""
        self._heard = ""

    def on_caller(self, words: str, final: bool) -> None:
        """Print more of the caller's words. A final transcript that differs is printed again."""
        if not final:
            self._heard += words
            self._print("caller", words)
            return
        heard, self._heard = self._heard, ""
        if words.startswith(heard):
            self._print("caller", words.removeprefix(heard))
        else:
            self._speaker = ""
            self._print("caller", words)
        self._speaker = ""

    def on_agent(self, words: str) -> None:
        """Print more of the agent's words."""
        self._print("agent", words)

    def on_response_ended(self) -> None:
        """Begin a new line with the next words."""
        self._speaker = ""

    def on_audio(self, sound: Samples) -> None:
        """Play the agent's audio [n], mono at 24 kHz."""
        if self._player is not None and self._player.stdin is not None and self._player.returncode is None:
            self._player.stdin.write(sound.astype("<i2").tobytes())

    def _print(self, speaker: str, words: str) -> None:
        if not words.strip() and not self._speaker:
            return
        if speaker != self._speaker:
            self._speaker, words = speaker, f"\n{speaker + ':':<8}{words.lstrip()}"
        line_end, words = ("\n", words[1:]) if words.startswith("\n") else ("", words)
        self._write(line_end + printable(words))


@asynccontextmanager
async def live_output(write: Callable[[str], None]) -> AsyncIterator[LiveOutput]:
    """Yield an output with the first player that finds a sound device. Without one, the reason is printed."""
    player, reason = await _start_player()
    if player is None:
        write(f"No sound is played: {reason}.\n")
    try:
        yield LiveOutput(write, player)
        write("\n")
    finally:
        if player is not None:
            await _close(player)


async def _start_player() -> tuple[asyncio.subprocess.Process | None, str]:
    """Return a running player, or None and the reason."""
    reason = f"none of {', '.join(name for name, *_ in PLAYERS)} is installed"
    for command in PLAYERS:
        if shutil.which(command[0]) is None:
            continue
        pipe, nothing = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
        player = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=nothing, stderr=pipe)
        try:
            async with asyncio.timeout(STARTS_S):
                await player.wait()
        except TimeoutError:
            return player, ""
        error = b"" if player.stderr is None else await player.stderr.read()
        lines = error.decode(errors="replace").strip().splitlines() or ["it ended at once"]
        reason = f"{command[0]}: {printable(lines[-1])}"
    return None, reason


async def _close(player: asyncio.subprocess.Process) -> None:
    """Let the player play the rest of the audio, then end it."""
    if player.stdin is not None:
        player.stdin.close()
    try:
        async with asyncio.timeout(DRAIN_S):
            await player.wait()
    except TimeoutError:
        player.kill()
        await player.wait()
