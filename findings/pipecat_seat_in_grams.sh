#!/usr/bin/env bash
# pipecat-ai 1.14.0: `VoiceFormatter`, as it is by default, has the agent say "your seat is 14 grams" for seat 14G, "5 grams" for
# 5G, and "$5 meters" for $5M.
#
# The formatter prepares a reply for the voice. One of its parts, on by default, writes units out: "5km" as "5 kilometers". The
# units `g`, `l`, `m` and `in` may be words or letters, so it takes them only right behind a figure, and that is how seats, gates,
# rooms, generations of networks and short amounts are written. Capitals count as small letters. Nothing is logged, and the words
# in the context stay "14G": only the caller hears it. The amount in millions passes the part for money, which wants an end of word
# behind the figures, and is met by the one for units.
# What helps: `expand_units=False`; or, as below, one's own replacement before it for what an agent speaks of.
# Output seen: "Your seat is 14 grams.", "Your seats are 31 liters and 31 meters.", "Yes, you have 5 grams there.", "They raised
# $5 meters."; with a space before the letter, and without that part, as written.
# Seen with pipecat-ai 1.14.0, Python 3.11. Exits with 0 while that is so.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --no-compile pipecat-ai==1.14.0 num2words==0.5.14
cat > "$folder/seats.py" <<'PYTHON'
import asyncio
from importlib.metadata import version

from loguru import logger

logger.remove()
from pipecat.utils.text.transforms import VoiceFormatter, replace_text  # noqa: E402

SPOKEN = {
    "Your seat is 14G.": "Your seat is 14 grams.",
    "Your seats are 31L and 31M.": "Your seats are 31 liters and 31 meters.",
    "Yes, you have 5G there.": "Yes, you have 5 grams there.",
    "They raised $5M.": "They raised $5 meters.",
}
AS_WRITTEN = "Your seat is 14 G."
apart = replace_text([(r"(?<=\d)(?=[GLM]\b)", " ")])


async def main() -> None:
    default, without = VoiceFormatter(), VoiceFormatter(expand_units=False)
    for text, expected in SPOKEN.items():
        spoken = await default(text, "*")
        print(f"{text:30} {spoken}")
        assert spoken == expected, spoken
        assert await without(text, "*") == text or "$" in text
    assert await default(AS_WRITTEN, "*") == AS_WRITTEN
    assert await default(await apart("Your seat is 14G, 2km away.", "*"), "*") == (
        "Your seat is 14 G, 2 kilometers away."
    )
    print(f"{AS_WRITTEN:30} {AS_WRITTEN}")
    print("pipecat-ai", version("pipecat-ai"))


asyncio.run(main())
PYTHON
"$folder/venv/bin/python" "$folder/seats.py"
