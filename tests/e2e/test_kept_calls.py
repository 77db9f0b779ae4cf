"""Calls that are kept: the log of a real call replays, and the recording holds what both sides heard."""

from __future__ import annotations

import wave
from pathlib import Path

import numpy as np
from fixed_config import write_config
from sdk_caller import calling
from served import served
from sounds import voice_like

from audio.pcm import AudioFormat, Samples, decode
from audio.resample import resample
from voiceagent.calls.kept_call import read_kept_log
from voiceagent.calls.replay import replay

KEPT = '[calls]\nfolder = "./kept"\n'


def recording(folder: Path) -> tuple[Samples, Samples, int]:
    """Caller, agent and rate of the only recording there is."""
    (path,) = folder.rglob("sound.wav")
    with wave.open(str(path)) as file:
        both = np.frombuffer(file.readframes(file.getnframes()), "<i2").reshape(-1, 2)
        return both[:, 0], both[:, 1], file.getframerate()


async def test_a_kept_call_replays_and_its_recording_holds_what_was_sent_and_received(tmp_path: Path):
    config = write_config(tmp_path, KEPT)
    config.write_text(config.read_text().replace("ttft_s", 'response = "Yes, there is."\nttft_s'))
    silence = np.zeros(48_000, np.int16)
    said = np.concatenate([resample(voice_like(40), 16_000, 24_000), silence] * 2)
    async with served(config) as address, calling(address) as caller:
        await caller.speak(said, silence_s=0)
        await caller.until("response.done", 2)
        received = decode(caller.sound(), AudioFormat.PCM_24K)
    (log,) = (tmp_path / "kept").rglob("log.jsonl.zst")
    assert replay(read_kept_log(log.parent)) is None
    heard, agent, rate_hz = recording(tmp_path / "kept")
    assert rate_hz == 24_000
    assert np.array_equal(heard, said)
    spoken = np.flatnonzero(agent)
    responses = np.split(spoken, np.flatnonzero(np.diff(spoken) > 2_400) + 1)
    assert len(responses) == 2
    played = np.concatenate([agent[part[0] : part[-1] + 1] for part in responses])
    assert np.array_equal(played[played != 0], received[received != 0])
