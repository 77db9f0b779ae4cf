#!/usr/bin/env bash
# elevenlabs 2.78.0: of a reply that is streamed token by token, `convert_realtime` sends "$12.50" as "$12. 50", "7:30" as "7: 30"
# and "-5" as "- 5"; of a Chinese reply it sends nothing until the model has written all of it.
#
# The method takes an iterator of text, "for applications where the text can be streamed, such as LLM output", and one expects the
# voice to get that text. The API wants each message to end with a space, so the SDK's `text_chunker` cuts where a piece begins or
# ends with punctuation, and adds one there. A model's tokens of "12.50" are "12", ".", "50", so the point ends a
# message, and what the API puts together is another text: the end of a sentence in the middle of a price, a time, a telephone
# number or an address. A script that yields whole sentences, as the documentation's example does, is sent unchanged. Chinese and
# Japanese have neither spaces nor the eleven Latin marks that the chunker knows, so all of a reply is one message at its end, and
# nothing streams. The application's own transcript is right, and no warning is logged. (What the API makes of "$12. 50" was
# not asked; a server of our own takes its place.)
# What helps: pieces that are whole words with a space at the end, as below; each is still sent only when the next one is written.
# Output seen: "The total is $12. 50,  and your table is at 7: 30.  It is - 5 degrees. "; with whole words it is as written. Of 17
# Chinese pieces the first text is sent after 17, and with pieces cut at punctuation after 11.
# Seen with elevenlabs 2.78.0, mistral-common 1.13.1 (Tekken, for the tokens), Python 3.11. Exits with 0 while that is so.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --no-compile elevenlabs==2.78.0 mistral-common==1.13.1 websockets==15.0.1
cat > "$folder/split.py" <<'PYTHON'
import json
import re
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from threading import Thread

import elevenlabs.realtime_tts as realtime_tts
import mistral_common
from elevenlabs.client import ElevenLabs
from mistral_common.tokens.tokenizers.tekken import Tekkenizer
from websockets.sync.client import connect
from websockets.sync.server import ServerConnection, serve

REPLY = "The total is $12.50, and your table is at 7:30. It is -5 degrees."
CHINESE = "好的，八点有一张桌子。请问您贵姓？"
tekken = Tekkenizer.from_file(next((Path(mistral_common.__file__).parent / "data").glob("tekken*.json")))
received: list[str] = []
written_before: list[int] = []
written = 0


def api(socket: ServerConnection) -> None:
    """Take the place of the API: note each text, and close after the empty one."""
    for message in socket:
        text = json.loads(message)["text"]
        if not text:
            return socket.close()
        written_before.append(written)
        received.append(text)


def streamed(pieces: list[str]) -> Iterator[str]:
    global written
    for written, piece in enumerate(pieces, 1): 
        yield piece


def words(pieces: Iterator[str]) -> Iterator[str]:
    """Join pieces to whole words, or to sentences where no spaces are written."""
    kept = ""
    for piece in pieces:
        kept += piece
        while cut := re.search(r"\s|(?<=[。！？，])", kept):
            yield kept[: cut.start()] + " "
            kept = kept[cut.end() :]
    yield kept + " "


def speak(pieces: Iterator[str]) -> tuple[str, int]:
    """Return the text that the API got, and the pieces written before its first message."""
    global written
    received.clear(), written_before.clear()
    written = 0
    list(client.text_to_speech.convert_realtime("voice", text=pieces, model_id="eleven_flash_v2_5"))
    return "".join(received[1:]), written_before[1]  # the first text is a space that opens the stream


server = serve(api, "127.0.0.1", 0)
thread = Thread(target=server.serve_forever, daemon=True)
thread.start()
# the SDK replaces the scheme by wss; this server has no certificate
realtime_tts.connect = lambda url, **options: connect(url.replace("wss:", "ws:"), **options)
client = ElevenLabs(api_key="none", base_url="http://127.0.0.1:%d" % server.socket.getsockname()[1])

TOKENS = [tekken.decode([token]) for token in tekken.encode(REPLY, bos=False, eos=False)]
print(TOKENS)
sent, _ = speak(streamed(TOKENS))
print(repr(sent))
assert "$12. 50, " in sent and "7: 30. " in sent and "- 5 degrees" in sent, sent
whole, _ = speak(streamed([REPLY]))
assert whole.strip() == REPLY, whole
helped, _ = speak(words(streamed(TOKENS)))
print(repr(helped))
assert helped.strip() == REPLY, helped

sent, before_first = speak(streamed([*CHINESE]))
helped, helped_before_first = speak(words(streamed([*CHINESE])))
print(f"Chinese: first text sent after {before_first} of {len(CHINESE)} pieces; with words(): {helped_before_first}")
assert before_first == len(CHINESE) and sent.strip() == CHINESE, (before_first, sent)
assert helped_before_first < len(CHINESE) and helped.replace(" ", "") == CHINESE, (helped_before_first, helped)
server.shutdown()
thread.join()
print("elevenlabs", version("elevenlabs"))
PYTHON
"$folder/venv/bin/python" "$folder/split.py"
