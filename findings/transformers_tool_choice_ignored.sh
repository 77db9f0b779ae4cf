#!/usr/bin/env bash
# transformers 5.23.0: `transformers serve` accepts `tool_choice` and ignores it, and a stop string is part of the reply.
#
# OpenAI's API, which it offers: "none" means that the model will not call any tool, "required" and a named function that it
# must call one, and a reply "will not contain the stop sequence". Here, the prompt and the reply are the same for all four
# values, with status 200, though other fields that the server does not carry out are refused (422, "Unexpected fields"). An
# agent that must answer from a tool's result calls the tool again, and a stop string is spoken.
# Seen with torch 2.13.0, Python 3.11, a random model of 0.1 M parameters. Exits with 0 while that is so.
set -euo pipefail
folder=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet torch==2.13.0 'transformers[serving]==5.23.0' accelerate
export HF_HOME="$folder/cache" HF_HUB_OFFLINE=1
mkdir -p "$folder/cache/hub"
cat > "$folder/model.py" <<'PYTHON'
import json
import sys
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM

folder = Path(sys.argv[1])
alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
tokenizer = Tokenizer(models.BPE(vocab={letter: number for number, letter in enumerate(alphabet)}, merges=[]))
tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
tokenizer.decoder = decoders.ByteLevel()
tokenizer.add_special_tokens(["<end>"])
size = dict(hidden_size=64, intermediate_size=128, num_hidden_layers=1, num_attention_heads=2, num_key_value_heads=1)
torch.manual_seed(1)
model = LlamaForCausalLM(LlamaConfig(vocab_size=257, eos_token_id=256, bos_token_id=256, pad_token_id=256, **size))
letters = [alphabet.index(letter) for letter in "abcdefgh"]
with torch.no_grad():  # each letter is followed by the next one: "abcdefgh", and the end
    for layer in model.model.layers:
        layer.self_attn.o_proj.weight.zero_()
        layer.mlp.down_proj.weight.zero_()
    rows = torch.nn.functional.normalize(torch.randn(257, 64), dim=1)
    model.model.embed_tokens.weight.copy_(rows)
    model.lm_head.weight.zero_()
    for one, following in zip(letters, [*letters[1:], 256]):
        model.lm_head.weight[following] += 4 * rows[one]
model.save_pretrained(folder)
tokenizer.save(str(folder / "tokenizer.json"))
template = "{{ tools | tojson if tools }}{% for m in messages %}{{ m.content }}{% endfor %}"
config = dict(tokenizer_class="PreTrainedTokenizerFast", eos_token="<end>", bos_token="<end>", chat_template=template)
(folder / "tokenizer_config.json").write_text(json.dumps(config))
PYTHON
"$folder/venv/bin/python" -W ignore "$folder/model.py" "$folder/model" 2> /dev/null
port=$("$folder/venv/bin/python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
"$folder/venv/bin/transformers" serve --host 127.0.0.1 --port "$port" --device cpu "$folder/model" > "$folder/log" 2>&1 &
cat > "$folder/ask.py" <<'PYTHON'
import json
import sys
import time
import urllib.error
import urllib.request
from importlib.metadata import version

base, model = f"http://127.0.0.1:{sys.argv[1]}/v1/", sys.argv[2]
tool = {"type": "function", "function": {"name": "look", "description": "Looks.", "parameters": {"type": "object"}}}


def ask(**fields):
    body = {"model": model, "messages": [{"role": "user", "content": "a"}], "max_tokens": 20, **fields}
    request = urllib.request.Request(base + "chat/completions", json.dumps(body).encode(), {"content-type": "application/json"})
    try:
        answer = json.load(urllib.request.urlopen(request, timeout=60))
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()[:70]
    message = answer["choices"][0]["message"]
    return message["content"], message.get("tool_calls"), answer["usage"]["prompt_tokens"]


for _ in range(240):
    try:
        urllib.request.urlopen(base + "models", timeout=5)
        break
    except OSError:
        time.sleep(0.5)
print("transformers", version("transformers"))
plain = ask()
print("no tools:", plain)
choices = ("auto", "none", "required", {"type": "function", "function": {"name": "look"}})
replies = [ask(tools=[tool], tool_choice=choice) for choice in choices]
for choice, reply in zip(choices, replies):
    print(f"tool_choice {choice}:", reply)
unknown = ask(no_such_field=1)
print("a field that it does not know:", unknown)
stopped = ask(stop=["e"])
print("stop 'e':", stopped)
assert plain[0] == "bcdefgh" and plain[1] is None, plain
assert all(reply == replies[0] for reply in replies) and replies[0][2] > plain[2], replies
assert unknown[0] == 422, unknown
assert stopped[0] == "bcde", stopped
PYTHON
"$folder/venv/bin/python" "$folder/ask.py" "$port" "$folder/model" || { tail -n 20 "$folder/log"; exit 1; }
