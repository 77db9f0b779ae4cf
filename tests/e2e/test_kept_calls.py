"""Calls that are kept: the log of a real call replays, and the recording holds what both sides heard."""

from __future__ import annotations

import asyncio
import base64
import json
import re
import sys
import wave
from pathlib import Path

import numpy as np
import pytest
from fixed_config import write_config
from kept_folder import log_in
from phone_caller import FRAME_S
from phone_caller import calling as phone_calling
from phone_lines import Command, Message, Twilio
from rtc_caller import RATE_HZ, rtc_calling
from sdk_caller import calling
from served import READY_S, served
from sounds import voice_like

from audio.pcm import AudioFormat, Samples, decode, encode
from audio.resample import resample
from voiceagent.calls.log.event_log import CallLog, read_log
from voiceagent.calls.replaying.replay import replay
from voiceagent.calls.rows import CallFilter, CallRow
from voiceagent.calls.store import CallStore, sqlite_url
from voiceagent.cli.main import main
from voiceagent.conversation.events import CallerGone
from voiceagent.inspector.reading import document

KEPT = '[calls]\nfolder = "./kept"\n'


def recording(folder: Path) -> tuple[Samples, Samples, int]:
    """Caller, agent and rate of the only recording there is."""
    (path,) = folder.rglob("sound.wav")
    with wave.open(str(path)) as file:
        both = np.frombuffer(file.readframes(file.getnframes()), "<i2").reshape(-1, 2)
        return both[:, 0], both[:, 1], file.getframerate()


def pieces(agent: Samples, rate_hz: int) -> list[Samples]:
    """Return the agent's utterances between silences of a tenth of a second, inner silence included."""
    spoken = np.flatnonzero(agent)
    responses = np.split(spoken, np.flatnonzero(np.diff(spoken) > rate_hz // 10) + 1)
    return [agent[part[0] : part[-1] + 1] for part in responses]


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """Calls are kept, and responses are short."""
    path = write_config(tmp_path, KEPT)
    path.write_text(path.read_text().replace("ttft_s", 'response = "Yes, there is."\nttft_s'))
    return path


ANSWER_S = 0.78
"""How long such a response sounds."""


def question(rate_hz: int) -> Samples:
    """With two seconds of silence behind it."""
    said = resample(voice_like(40), 16_000, rate_hz)
    return np.concatenate([said, np.zeros(2 * rate_hz, np.int16)])


def sent_of(heard: Samples, log: CallLog) -> Samples:
    """Return the caller's audio; the recording has silence where it arrived late, as on a busy machine."""
    sent = np.ones(len(heard), bool)
    for silence in log.silences:
        sent[silence.since : silence.until] = False
    return heard[sent]


async def test_a_call_of_the_sdk_is_recorded_and_replays(config: Path):
    said = np.tile(question(24_000), 2)
    async with served(config) as address, calling(address) as caller:
        for answers in (1, 2):  # however late: a question over the answer before would cut it
            await caller.speak(question(24_000), silence_s=0)
            await caller.until("response.done", answers)
        received = decode(caller.sound(), AudioFormat.PCM_24K)
    kept = config.parent / "kept"
    log = log_in(kept)
    assert replay(log) is None
    heard, agent, rate_hz = recording(kept)
    assert rate_hz == 24_000
    assert np.array_equal(sent_of(heard, log), said)
    assert np.array_equal(agent[agent != 0], received[received != 0])


async def test_of_the_response_that_a_caller_hangs_up_on_what_was_heard_is_kept(tmp_path: Path):
    said = resample(voice_like(40), 16_000, 24_000)
    async with served(write_config(tmp_path, KEPT)) as address, calling(address) as caller:
        await caller.speak(said)
        await caller.until("response.output_audio.delta", 40)
    kept = tmp_path / "kept"
    log = log_in(kept)
    assert replay(log) is None
    gone = log.records[-1].event
    assert isinstance(gone, CallerGone)
    assert log.ended is not None
    written = "".join(c["text"] for r in log.records for c in r.commands if c["type"] == "NotifyResponseText")
    (heard,) = [message.text for message in log.ended.heard]
    assert heard
    (report,) = log.reports
    assert (report.outcome, report.response_id) == ("hung_up", gone.response_id)
    assert written.startswith(heard)
    assert heard != written.strip()
    _, agent, rate_hz = recording(kept)
    assert len(pieces(agent, rate_hz)[0]) / rate_hz == pytest.approx(gone.played_s, abs=0.1)


async def test_the_sound_of_a_kept_call_is_recognized_again_by_another_recognizer(config: Path, capsys):
    said = resample(voice_like(20), 16_000, 24_000)
    async with served(config) as address, calling(address) as caller:
        await caller.speak(said)
        await caller.until("response.done")
    (folder,) = {path.parent for path in (config.parent / "kept").rglob("log.jsonl.zst")}
    command = ["replay", folder.name, "--set", 'recognizer.text="Is there a pool?"', "--json"]
    capsys.readouterr()
    assert await asyncio.to_thread(main, [*command, "--config", str(config)]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [turn["said"] for turn in told["after"]["turns"]] == ["Is there a pool?"]
    assert told["before"]["turns"][0]["spoke_until_s"] == told["after"]["turns"][0]["spoke_until_s"]
    assert told["live_transcripts"] > 0


class Overheard(Twilio):
    """Audio as the caller's telephone gets it, [n] at 8 kHz."""

    def __init__(self) -> None:
        super().__init__()
        self.received: list[Samples] = []

    def read(self, message: Message) -> Command:
        event = json.loads(message)
        if event["event"] == "media":
            payload = base64.b64decode(event["media"]["payload"])
            self.received.append(decode(payload, AudioFormat.PCMU))
        return super().read(message)


async def test_a_phone_call_is_recorded_as_both_sides_heard_it_and_replays(config: Path):
    said, line = np.tile(question(8_000), 2), Overheard()
    async with served(config) as address, phone_calling(line, f"ws://{address}/telephony/twilio") as caller:
        for answers in (1, 2):
            await caller.speak(question(8_000))
            await caller.until(lambda played_s=answers * ANSWER_S: caller.playing_s > played_s - FRAME_S)
    kept = config.parent / "kept"
    log = log_in(kept)
    assert replay(log) is None
    heard, agent, rate_hz = recording(kept)
    assert rate_hz == 8_000
    through_codec = decode(encode(said, AudioFormat.PCMU), AudioFormat.PCMU)
    whole = len(through_codec) // 160 * 160
    assert np.array_equal(sent_of(heard, log)[:whole], through_codec[:whole])
    played, received = np.concatenate(pieces(agent, rate_hz)), np.concatenate(line.received)
    after_codec = decode(encode(played, AudioFormat.PCMU), AudioFormat.PCMU)
    assert np.array_equal(after_codec[after_codec != 0], received[received != 0])


async def test_a_phone_call_is_found_by_its_caller_and_by_its_id_at_the_provider(config: Path):
    async with served(config) as address:
        for number in ("15550100", "15550123"):
            url = f"ws://{address}/telephony/twilio?from={number}"
            async with phone_calling(Twilio(), url) as caller:
                await caller.speak(question(8_000))
    store = CallStore(sqlite_url(config.parent / "kept"))
    (found,) = store.found(CallFilter(provider_value="15550123"), 10)
    facts = {fact.name: fact.value for fact in store.facts_of(found.call_id)}
    assert facts["from"] == "15550123"
    drawn = json.loads(document(found))
    assert drawn["call"]["provider_data"] == facts
    assert {turn["ended_by"] for turn in drawn["turns"]} <= {"silence", ""}  # of which nothing was typed
    assert (
        len(store.found(CallFilter(provider_value=facts["line_call"]), 10)) == 2
    )  # this line's calls have one id
    store.close()


async def test_a_webrtc_call_is_recorded_as_both_sides_heard_it_and_replays(config: Path):
    async with served(config) as address, rtc_calling(address) as caller:
        for answers in (1, 2):
            await caller.microphone.say(question(48_000))
            await caller.until("output_audio_buffer.stopped", answers)
        await caller.microphone.say(np.zeros(RATE_HZ, np.int16))  # while the last packets are decoded
        received = caller.sound
    kept = config.parent / "kept"
    assert replay(log_in(kept)) is None
    heard, agent, rate_hz = recording(kept)
    assert rate_hz == 24_000
    loud = np.flatnonzero(np.abs(heard) > 1_000)
    assert np.diff(loud).max() > 1.5 * rate_hz, "silence between the questions stays silence"
    # Opus changes the samples, and its frames begin and end softly: how long the tones last stays.
    tones = [len(piece) / rate_hz for piece in pieces(agent, rate_hz)]
    loud_received = np.where(np.abs(received) > 500, received, 0)
    heard_s = [len(piece) / RATE_HZ for piece in pieces(loud_received, RATE_HZ)]
    assert sum(tones) == pytest.approx(sum(heard_s), abs=0.1)


async def start(config: Path) -> tuple[asyncio.subprocess.Process, str]:
    """A server that can be killed, and its address."""
    program = Path(sys.executable).with_name("voiceagent")
    command = [program, "serve", "--config", config, "--port", "0"]
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    assert process.stdout is not None
    found = re.search(r"http://(\S+)", (await asyncio.wait_for(process.stdout.readline(), READY_S)).decode())
    assert found
    return process, found[1]


async def state_of_the_only_call(kept: Path) -> CallRow:
    """Return the call's row in the store, as soon as the call has ended."""
    store = CallStore(sqlite_url(kept))
    try:
        while (call := store.newest()[0]).state == "running":  # noqa: ASYNC110  another process tells it
            await asyncio.sleep(0.05)
    finally:
        store.close()
    return call


async def test_a_killed_server_leaves_all_but_a_second_of_its_call(config: Path):
    kept, said = config.parent / "kept", np.tile(question(24_000), 2)
    process, address = await start(config)
    async with calling(address) as caller:
        for answers in (1, 2):
            await caller.speak(question(24_000), silence_s=0)
            await caller.until("response.done", answers)
        process.kill()
        caller.vanish()
        await process.wait()
    (path,) = kept.rglob("log.jsonl")
    log = read_log(path.read_bytes(), str(path))
    assert log.ended is None
    assert replay(log) is None
    recorded, agent, rate_hz = recording(kept)
    heard = sent_of(recorded, log)
    assert len(said) - rate_hz < len(heard) <= len(said)
    assert np.array_equal(heard, said[: len(heard)])
    assert len(pieces(agent, rate_hz)) >= 2
    async with served(config):
        call = await state_of_the_only_call(kept)
    assert (call.state, call.reason, call.responses) == ("broken", None, 2)
