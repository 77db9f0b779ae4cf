#!/usr/bin/env bash
# soniox 2.10.0: after `send_bytes(audio)` with the answer as one `bytes` object the end of the audio is never signalled, and its
# final words do not come; the same audio in an iterator is ended.
#
# Where the caller's end of speech is known, by push-to-talk, a key, or a detector of one's own, an agent has the whole answer in a
# buffer. `send_bytes` takes "either a single bytes object or an iterator", and with `finish=True`, the default, "an end-of-audio
# signal is sent after the last chunk". For a `bytes` object the method returns before it comes to that, in the synchronous and in
# the asynchronous session. The API finalizes what it has heard when it gets the signal, so `receive_events()` waits, without an
# error, for as long as the server keeps the connection; the words that are not final by then are lost to an agent that reads
# final ones. `finish=False` makes no difference there. (A server of our own takes the place of the API: it answers each chunk with
# words that are not final, and the signal with final words and a close, as the API's page on real-time transcription has it.)
# What helps: `send_bytes(iter([audio]))`, or `finish()` after it.
# Output seen: of one bytes object 0 final words after 3 s and 0 signals before the session is left, sync and async; of an iterator
# "seven" and 1 signal; with `finish()` "seven" and 1 signal.
# Seen with soniox 2.10.0, websockets 15.0.1, Python 3.11. Exits with 0 while that is so.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --no-compile soniox==2.10.0 websockets==15.0.1
cat > "$folder/ended.py" <<'PYTHON'
import asyncio
import json
from importlib.metadata import version
from threading import Event, Thread

from soniox import AsyncSonioxClient, SonioxClient
from soniox.errors import SonioxRealtimeError
from soniox.types import RealtimeSTTConfig
from websockets.sync.server import ServerConnection, serve

AUDIO = bytes(32_000)  # a second of silence: this server says what it heard whatever it is
PATIENCE_S = 3.0
CONFIG = RealtimeSTTConfig(model="stt-rt-v4", audio_format="pcm_s16le", sample_rate=16_000, num_channels=1)
signals: list[str] = []
left, ended = Event(), Event()
"""Left by the client; ended on the server's side."""


def words(text: str, final: bool, **more: bool) -> str:
    return json.dumps(
        {"tokens": [{"text": text, "is_final": final}], "final_audio_proc_ms": 0, "total_audio_proc_ms": 1000, **more}
    )


def api(socket: ServerConnection) -> None:
    """Take the place of the API; what comes once the client has left its session does not count."""
    socket.recv()  # the configuration
    for message in socket:
        if isinstance(message, bytes) and message:
            socket.send(words("sev", False))
        elif not message:
            if not left.is_set():
                signals.append("end of audio")
            socket.send(words("seven", True, finished=True))
            socket.close()
            break
    ended.set()


def final_words(events: list) -> str:
    return "".join(token.text for event in events for token in event.tokens if token.is_final)


async def asynchronous(url: str, audio: object, finish: bool) -> str:
    events: list = []
    session = AsyncSonioxClient(api_key="none", websocket_base_url=url).realtime.stt.connect(config=CONFIG)
    async with session:
        await session.send_bytes(audio)
        if finish:
            await session.finish()

        async def read() -> None:
            async for event in session.receive_events():
                events.append(event)

        try:
            await asyncio.wait_for(read(), PATIENCE_S)
        except TimeoutError:
            pass
        left.set()
    return final_words(events)


def synchronous(url: str, audio: object, finish: bool) -> str:
    events: list = []
    with SonioxClient(api_key="none", websocket_base_url=url).realtime.stt.connect(config=CONFIG) as session:
        session.send_bytes(audio)
        if finish:
            session.finish()

        def read() -> None:
            try:
                events.extend(session.receive_events())
            except SonioxRealtimeError:  # the session was left while it waited
                pass

        reader = Thread(target=read)
        reader.start()
        reader.join(PATIENCE_S)
        heard = final_words(events)
        left.set()
    reader.join()
    return heard


async def chunks() -> object:
    yield AUDIO


def outcome(run: object, *arguments: object) -> tuple[str, int]:
    """Return the final words, and the signals that came before the session was left."""
    signals.clear(), left.clear(), ended.clear()
    heard = run(*arguments)
    ended.wait()
    return heard, len(signals)


def run_async(*arguments: object) -> str:
    return asyncio.run(asynchronous(*arguments))


server = serve(api, "127.0.0.1", 0)
Thread(target=server.serve_forever, daemon=True).start()
url = "ws://127.0.0.1:%d" % server.socket.getsockname()[1]
for name, run, iterator in (("sync", synchronous, lambda: iter([AUDIO])), ("async", run_async, chunks)):
    alone = outcome(run, url, AUDIO, False)
    iterated = outcome(run, url, iterator(), False)
    helped = outcome(run, url, AUDIO, True)
    print(f"{name}: bytes {alone}, iterator {iterated}, bytes and finish() {helped}")
    assert alone == ("", 0), alone
    assert iterated == ("seven", 1), iterated
    assert helped == ("seven", 1), helped
server.shutdown()
print("soniox", version("soniox"))
PYTHON
"$folder/venv/bin/python" "$folder/ended.py"
