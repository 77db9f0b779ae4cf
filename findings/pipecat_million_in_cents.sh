#!/usr/bin/env bash
# pipecat-ai 1.14.0: `VoiceFormatter`, as it is by default, has the agent say "three dollars and fifty cents million" for $3.5
# million, and "zero dollars a minute" for $0.004 a minute.
#
# The formatter writes amounts out before they go to the voice; "$42.50" comes right. Whatever follows a point is read as cents by
# its first two figures: of $3.5 that makes fifty cents, also where "million" or "billion" follows, and of a price below a cent
# nothing is left. $19.995 loses half a cent. The caller hears another price than the one that stands in the context, and no warning
# is given. What helps: `expand_currency=False`; or one's own replacement of such amounts before it, as below.
# Output seen: "It costs three dollars and fifty cents million.", "It costs zero dollars a minute.", "nineteen dollars and
# ninety-nine cents" for $19.995.
# Seen with pipecat-ai 1.14.0, num2words 0.5.14, Python 3.11. Exits with 0 while that is so.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --no-compile pipecat-ai==1.14.0 num2words==0.5.14
cat > "$folder/amounts.py" <<'PYTHON'
import asyncio
from importlib.metadata import version

from loguru import logger

logger.remove()
from pipecat.utils.text.transforms import VoiceFormatter, replace_text  # noqa: E402

SPOKEN = {
    "It costs $42.50.": "It costs forty-two dollars and fifty cents.",
    "It costs $3.5 million.": "It costs three dollars and fifty cents million.",
    "It costs $2.75 billion.": "It costs two dollars and seventy-five cents billion.",
    "It costs $0.004 a minute.": "It costs zero dollars a minute.",
    "It costs $19.995.": "It costs nineteen dollars and ninety-nine cents.",
}
in_words = replace_text([(r"\$(\d+(?:\.\d+)?) (million|billion)", r"\1 \2 dollars"), (r"\$(0\.00\d+)", r"\1 dollars")])


async def main() -> None:
    default, without = VoiceFormatter(), VoiceFormatter(expand_currency=False)
    for text, expected in SPOKEN.items():
        spoken = await default(text, "*")
        print(f"{text:28} {spoken}")
        assert spoken == expected, spoken
        assert await without(text, "*") == text
    mended = [await default(await in_words(text, "*"), "*") for text in SPOKEN]
    assert mended[1] == "It costs 3.5 million dollars.", mended
    assert mended[3] == "It costs 0.004 dollars a minute.", mended
    print("pipecat-ai", version("pipecat-ai"))


asyncio.run(main())
PYTHON
"$folder/venv/bin/python" "$folder/amounts.py"
