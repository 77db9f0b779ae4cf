#!/usr/bin/env bash
# deepgram-sdk 7.17.0: `ssml_to_deepgram` and `TextBuilder.from_ssml` leave XML's escapes in the text that is spoken: "Smith &amp; Sons
# isn&apos;t open".
#
# Who comes from a voice that takes SSML has prompts in it, or a formatter that writes it, and the SDK's converter makes Deepgram's
# inline controls of `<phoneme>` and `<break>`. In SSML, which is XML, an ampersand must be written as an entity, and what writes XML
# escapes quotes and apostrophes, too (`xml.sax.saxutils.quoteattr`, JavaScript's template engines), so that one expects plain
# text. The converter works by patterns, takes the tags away, and leaves the entities and numeric references; in a phoneme's word
# they go into the JSON of the control. No error is raised. The API gets "&amp;" (it was not asked how its voice reads that).
# What helps: `html.unescape` on the result, as below; it leaves the controls as they are.
# Output seen: "Smith &amp; Sons isn&apos;t open; call \{"word": "Dr&#233;", "pronounce": "dɹeɪ"\} before 9.", and unescaped as an XML
# parser reads the same SSML.
# Seen with deepgram-sdk 7.17.0, Python 3.11. Exits with 0 while that is so.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --no-compile deepgram-sdk==7.17.0
cat > "$folder/entities.py" <<'PYTHON'
from html import unescape
from importlib.metadata import version
from xml.etree import ElementTree

from deepgram.helpers.text_builder import TextBuilder, ssml_to_deepgram

SSML = (
    "<speak>Smith &amp; Sons isn&apos;t open; call "
    '<phoneme alphabet="ipa" ph="dɹeɪ">Dr&#233;</phoneme> before 9.</speak>'
)
CONTROL = r'\{"word": "Dr%s", "pronounce": "dɹeɪ"\}'

read = "".join(ElementTree.fromstring(SSML).itertext())
print("an XML parser reads:", read)
assert read == "Smith & Sons isn't open; call Dré before 9."

converted = ssml_to_deepgram(SSML)
print("converted:", converted)
assert converted == "Smith &amp; Sons isn&apos;t open; call " + CONTROL % "&#233;" + " before 9.", converted
assert TextBuilder().from_ssml(SSML).build() == converted

helped = unescape(converted)
print("unescaped:", helped)
assert helped == "Smith & Sons isn't open; call " + CONTROL % "é" + " before 9.", helped
print("deepgram-sdk", version("deepgram-sdk"))
PYTHON
"$folder/venv/bin/python" "$folder/entities.py"
