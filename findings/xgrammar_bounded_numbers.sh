#!/usr/bin/env bash
# xgrammar 0.2.9: a number with a bound has no exponent and six decimals at most, so 2.5e-05 of a tool's result is called back
# as 2.5.
#
# `{"type": "number", "minimum": 0}` is the usual schema of a price, rate or amount, and one expects each JSON number over it
# (vLLM and SGLang constrain a tool's arguments by xgrammar, unless told otherwise). Without a bound it is so. With `minimum`,
# `maximum` or their exclusive kinds, `e` and the seventh decimal are not among the tokens that may come next. Python's `json`
# writes 0.000025 as 2.5e-05, so that is what a model reads in the result of one tool, and what it copies into the call of the
# next: after 2.5 it is left with a digit or the end, and 2.5 is a valid rate. Neither is an error, in any log. xgrammar warns
# of other parts of a schema that it does not carry out; of this it does not. llguidance 1.9.1, too, has no exponent, but all
# decimals; outlines-core 0.2.14 has both. What helps: no bounds on such numbers, checked after the call; or strings.
# Output seen: what may follow 2.5 is a digit, white space, or the end; of five ways to write a number, the bounded schema
# has 0.5 and 0.000025, and not 2.5e-05, 1e-07 and 52.5200066.
# Seen with torch 2.13.0, Python 3.11. Exits with 0 while that is so.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet torch==2.13.0
"$folder/venv/bin/pip" install --quiet apache-tvm-ffi==0.1.15.post2 pydantic numpy transformers==5.24.0 \
    llguidance==1.9.1 outlines-core==0.2.14
# without Triton, which it needs for GPUs only
"$folder/venv/bin/pip" install --quiet --no-deps xgrammar==0.2.9
cat > "$folder/bounds.py" <<'PYTHON'
import json
import re
from importlib.metadata import version

import llguidance
import xgrammar
from outlines_core.json_schema import build_regex_from_schema

BYTES = [bytes([value]) for value in range(256)]
END = 256
NUMBERS = [json.dumps(value) for value in (0.5, 2.5e-05, 1e-07, 52.5200066)] + ["0.000025"]
BOUNDS = ({}, {"minimum": 0}, {"exclusiveMinimum": 0}, {"maximum": 90}, {"minimum": -90, "maximum": 90})
compiler = xgrammar.GrammarCompiler(xgrammar.TokenizerInfo([*BYTES, b"<end>"], stop_token_ids=[END]))


class ByteTokenizer:
    """A token for each byte, and one for the end."""

    eos_token_id, bos_token_id, special_token_ids = END, None, [END]
    tokens = [*BYTES, b"<end>"]

    def __call__(self, text: str | bytes) -> list[int]:
        return list(text if isinstance(text, bytes) else text.encode())


def by_xgrammar(schema: dict, text: str) -> bool:
    matcher = xgrammar.GrammarMatcher(compiler.compile_json_schema(json.dumps(schema)))
    return matcher.accept_string(text) and matcher.accept_token(END)


def by_llguidance(schema: dict, text: str) -> bool:
    tokenizer = llguidance.LLTokenizer(llguidance.TokenizerWrapper(ByteTokenizer()), n_vocab=END + 1)
    matcher = llguidance.LLMatcher(tokenizer, llguidance.LLMatcher.grammar_from_json_schema(schema))
    return matcher.try_consume_tokens(list(text.encode())) == len(text) and matcher.is_accepting()


def by_outlines(schema: dict, text: str) -> bool:
    return re.fullmatch(build_regex_from_schema(json.dumps(schema)), text) is not None


def next_bytes(schema: dict, text: str) -> bytes:
    """Return the bytes that may follow `text`."""
    matcher = xgrammar.GrammarMatcher(compiler.compile_json_schema(json.dumps(schema)))
    assert matcher.accept_string(text)
    mask = xgrammar.allocate_token_bitmask(1, END + 1)
    matcher.fill_next_token_bitmask(mask)
    return bytes(value for value in range(256) if int(mask[0][value // 32]) >> value % 32 & 1)


for name, accepts in {"xgrammar": by_xgrammar, "llguidance": by_llguidance, "outlines_core": by_outlines}.items():
    for bounds in BOUNDS:
        seen = [text for text in NUMBERS if accepts({"type": "number", **bounds}, text)]
        print(f"{name} {version(name)} {bounds or 'no bound'}: {', '.join(seen)}")
        if name == "xgrammar":
            assert seen == (["0.5", "0.000025"] if bounds else NUMBERS)
rate = {"type": "object", "properties": {"rate": {"type": "number", "minimum": 0}}, "required": ["rate"]}
print("after 2.5 may come", next_bytes(rate, '{"rate": 2.5'))
assert set(next_bytes(rate, '{"rate": 2.5')) == set(b"\t\n\r 0123456789}")
PYTHON
"$folder/venv/bin/python" "$folder/bounds.py"
