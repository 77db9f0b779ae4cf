#!/usr/bin/env bash
# pydantic 2.14.4 and llguidance 1.9.1: a model whose tool call a grammar constrains cannot write a local time for a `datetime`,
# and of a `NaiveDatetime` no value that it can write is accepted.
#
# A caller says "tomorrow at half past seven", and a tool has `when: datetime`. Pydantic takes "2026-12-02T19:30:00" as a local
# time, and writes one so itself; its schema is `"format": "date-time"`. Where a grammar holds the model to the schema (vLLM's
# guidance, SGLang, llama.cpp by choice), the format is RFC 3339's, which has an offset in any case: after the seconds no
# quotation mark may come, but Z, + or -, as in `time`. A model that was told of no offset is left with Z, and the table is
# booked for 19:30 UTC: 20:30 in Berlin, 11:30 in San Francisco. That is a valid call, with no error in any log, and without a
# grammar a local time passes. `NaiveDatetime`, which ought to help, has the same schema, and refuses each value that the
# grammar allows: the call fails, however often it is tried again. (That Pydantic's schema and RFC 3339 differ is known, from
# validators; a validator tells.) outlines-core 0.2.14 has it the other way round: a local time and Z, but no +01:00, so a model
# that knows its offset cannot write it.
# What helps: a string with a `pattern`, as below, read as a local time by the tool.
# Output seen, of a local time, Z, +01:00: pydantic's datetime takes all, NaiveDatetime the first; llguidance has the last two,
# outlines-core the first two, and with the pattern both have the first. After "2026-12-02T19:30:00 may come: + - . Z z
# Seen with Python 3.11. Exits with 0 while that is so.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --no-compile pydantic==2.14.4 llguidance==1.9.1 outlines-core==0.2.14 numpy
cat > "$folder/local.py" <<'PYTHON'
import json
import re
from collections.abc import Callable
from datetime import datetime, time
from importlib.metadata import version
from typing import Annotated

import llguidance
import numpy as np
from outlines_core.json_schema import build_regex_from_schema
from pydantic import AwareDatetime, Field, NaiveDatetime, TypeAdapter, ValidationError

END = 256
LOCAL, UTC, BERLIN = (f'"2026-12-02T19:30:00{offset}"' for offset in ("", "Z", "+01:00"))
LocalString = Annotated[str, Field(pattern=r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}$")]


class ByteTokenizer:
    """A token for each byte, and one for the end."""

    eos_token_id, bos_token_id, special_token_ids = END, None, [END]
    tokens = [*(bytes([value]) for value in range(256)), b"<end>"]

    def __call__(self, text: str | bytes) -> list[int]:
        return list(text if isinstance(text, bytes) else text.encode())


tokenizer = llguidance.LLTokenizer(llguidance.TokenizerWrapper(ByteTokenizer()), n_vocab=END + 1)


def matcher_of(kind: type) -> llguidance.LLMatcher:
    schema = TypeAdapter(kind).json_schema()
    return llguidance.LLMatcher(tokenizer, llguidance.LLMatcher.grammar_from_json_schema(schema))


def by_pydantic(kind: type, text: str) -> bool:
    try:
        TypeAdapter(kind).validate_json(text)
    except ValidationError:
        return False
    return True


def by_llguidance(kind: type, text: str) -> bool:
    matcher = matcher_of(kind)
    return matcher.try_consume_tokens(list(text.encode())) == len(text) and matcher.is_accepting()


def by_outlines(kind: type, text: str) -> bool:
    return re.fullmatch(build_regex_from_schema(json.dumps(TypeAdapter(kind).json_schema())), text) is not None


def next_characters(kind: type, text: str) -> str:
    """Return the characters by which llguidance lets `text` go on."""
    matcher = matcher_of(kind)
    assert matcher.try_consume_tokens(list(text.encode())) == len(text)
    mask = np.frombuffer(matcher.compute_bitmask(), dtype=np.uint32)
    return "".join(chr(value) for value in range(128) if int(mask[value // 32]) >> value % 32 & 1)


def taken(accepts: Callable[[type, str], bool], kind: type) -> list[str]:
    return [text for text in (LOCAL, UTC, BERLIN) if accepts(kind, text)]


print(", ".join(f"{name} {version(name)}" for name in ("pydantic", "llguidance", "outlines_core")))
expected = {
    "datetime": (datetime, [LOCAL, UTC, BERLIN], [UTC, BERLIN], [LOCAL, UTC]),
    "NaiveDatetime": (NaiveDatetime, [LOCAL], [UTC, BERLIN], [LOCAL, UTC]),
    "AwareDatetime": (AwareDatetime, [UTC, BERLIN], [UTC, BERLIN], [LOCAL, UTC]),
    "a string with a pattern": (LocalString, [LOCAL], [LOCAL], [LOCAL]),
}
for name, (kind, *values) in expected.items():
    seen = [taken(accepts, kind) for accepts in (by_pydantic, by_llguidance, by_outlines)]
    print(f"{name}: pydantic {seen[0]}, llguidance {seen[1]}, outlines-core {seen[2]}")
    assert seen == values, name
assert TypeAdapter(datetime).dump_json(datetime(2026, 12, 2, 19, 30)).decode() == LOCAL
for kind, text in ((datetime, LOCAL[:-1]), (time, '"19:30:00')):
    print("after", text, "may come", " ".join(next_characters(kind, text)))
    assert next_characters(kind, text) == "+-.Zz"
PYTHON
"$folder/venv/bin/python" "$folder/local.py"
