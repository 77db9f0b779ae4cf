#!/usr/bin/env bash
# mistral-common 1.13.1: with the tokenizers V3 to V11 the tools (with V3 the system prompt, too) move behind the history, so that
# they are computed again at each turn in spite of prefix caching.
#
# An agent sends the same instructions and tools with each turn, and one expects a server with prefix caching (vLLM, SGLang,
# llama.cpp) to compute only what is new, as with other models. Mistral's format puts the tools before the LAST user message and,
# with V3, the system prompt into it. Their documentation says so, but not what follows: at the next turn both are gone from where
# they were, so what is reused ends where the last user message began; in the second turn with V3 that is one token, <s>.
# `vllm serve --tokenizer-mode mistral` uses this library, and the models' own chat templates have the same order. V3 is Mistral
# 7B v0.3, Nemo, Ministral 8B 2410 and Pixtral; V7 and V11 are Large 2411 and Small 3 to 3.2. The answers are right, and each turn's
# first token comes about as late as without a cache; a test of one question does not show it. Within a turn, from a tool call to its
# result, the cache works.
# What helps: a model with V13 or later, where the tools come first; with V3, instructions at the head of the first user message in
# place of a system prompt: from the third turn on only the tools and the new words are computed.
# Output seen, tokens reused at turns 2, 3, 4 and length of the last prompt: V3: 1 25 49 of 788; V7: 244 268 292 of 809; V13: 717
# 741 765 of 789; V3 with the instructions in the first user message: 1 245 269 of 786.
# Seen with mistral-common 1.13.1, Python 3.11. Exits with 0 while that is so.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --no-compile mistral-common==1.13.1 sentencepiece
cat > "$folder/moves.py" <<'PYTHON'
import json
import sys
import warnings
from pathlib import Path

import mistral_common
from mistral_common.protocol.instruct.messages import AssistantMessage, SystemMessage, UserMessage
from mistral_common.protocol.instruct.request import ChatCompletionRequest
from mistral_common.protocol.instruct.tool_calls import Function, Tool
from mistral_common.tokens.tokenizers.base import SpecialTokens
from mistral_common.tokens.tokenizers.mistral import MistralTokenizer
from mistral_common.tokens.tokenizers.tekken import Tekkenizer

warnings.simplefilter("ignore")
DATA = Path(mistral_common.__file__).parent / "data"
INSTRUCTIONS = "You are a hotel's telephone agent. Be brief. " * 20
FIELDS = {name: {"type": "string", "description": f"the {name}"} for name in ("day", "time", "people", "name")}
SCHEMA = {"type": "object", "properties": FIELDS, "required": ["day"]}
ABOUT = "a table for a number of people on a day at a time."
NAMES = ("Book", "Cancel", "Move", "Find")
TOOLS = [Tool(function=Function(name=name, description=f"{name} {ABOUT}", parameters=SCHEMA)) for name in NAMES]
TURNS = 4


def reused(tokenizer: MistralTokenizer, as_system: bool = True) -> tuple[list[int], int]:
    """Return how many tokens each turn's prompt has in common with the turn before, and the length of the last prompt."""
    messages: list = [SystemMessage(content=INSTRUCTIONS)] if as_system else []
    before: list[int] = []
    common = []
    for turn in range(TURNS):
        head = "" if as_system or turn else INSTRUCTIONS
        messages.append(UserMessage(content=f"{head}Question number {turn}, please tell me about the pool."))
        request = ChatCompletionRequest(messages=messages, tools=TOOLS)
        prompt = tokenizer.encode_chat_completion(request).tokens
        differs = [one != other for one, other in zip(before, prompt)]
        common.append(differs.index(True) if True in differs else len(differs))
        before = prompt
        messages.append(AssistantMessage(content="The pool is open from nine to six."))
    return common[1:], len(before)


def version_13() -> MistralTokenizer:
    """Return a tokenizer of version 13 with the vocabulary of an older one: the package has no file of a newer one."""
    file = json.loads((DATA / "tekken_240911.json").read_text())
    file["config"]["version"] = "v13"
    file.pop("image", None)
    special = [token["token_str"] for token in Tekkenizer.DEPRECATED_SPECIAL_TOKENS]
    special += [token.value for token in SpecialTokens if token.value not in special]
    file["special_tokens"] = [dict(rank=rank, token_str=token, is_control=True) for rank, token in enumerate(special)]
    path = Path(sys.argv[1]) / "tekken.json"
    path.write_text(json.dumps(file))
    return MistralTokenizer.from_file(str(path))


v3 = MistralTokenizer.from_file(str(DATA / "tekken_240718.json"))
v7 = MistralTokenizer.from_file(str(DATA / "mistral_instruct_tokenizer_241114.model.v7"))
found = {"V3": reused(v3), "V7": reused(v7), "V13": reused(version_13()), "V3, first user": reused(v3, as_system=False)}
for name, (common, length) in found.items():
    print(f"{name}: {common} of {length}")
assert found["V3"][0][0] == 1 and max(found["V3"][0]) < 60, found
instructions = len(v7.instruct_tokenizer.tokenizer.encode(INSTRUCTIONS, bos=False, eos=False))
assert instructions <= found["V7"][0][0] < instructions + 10 and max(found["V7"][0]) < found["V7"][1] / 2, found
assert min(found["V13"][0]) > found["V13"][1] * 0.85, found
assert found["V3, first user"][0][0] == 1 and min(found["V3, first user"][0][1:]) > 200, found
PYTHON
"$folder/venv/bin/python" "$folder/moves.py" "$folder"
