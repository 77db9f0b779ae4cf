#!/usr/bin/env bash
# llama.cpp (xllamacpp 2026.10.11549): the numbers of a tool call reach the next prompt with six digits, those over 2^63 below zero.
#
# A chat template writes the calls so far into the prompt with `arguments | tojson`, and Transformers gives each number as
# the model wrote it. llama.cpp's own Jinja has 52.5200066 as 52.52, 1234567.89 as 1.23457e+06, 12.0 as 12 and
# 17293822569102704640 as -1152921504606846976; numbers in the schemas of tools pass through the same. So the model reads
# back another amount or place than the one it has just used, which it may tell the caller; and as 12 is not what it wrote,
# what was computed for the call does not fit the next prompt from there on. What helps: strings in place of numbers in
# a tool's parameters, or prompts that are rendered outside and sent as tokens.
# Output seen: {"latitude": 52.52, "amount": 1.23457e+06, "price": 12, "order": -1152921504606846976}
# Seen with xllamacpp 2026.10.11549, gguf 0.19.0, transformers 5.24.0, Python 3.11. Exits with 0 while that is so.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet xllamacpp==2026.10.11549 gguf==0.19.0 transformers==5.24.0 jinja2==3.1.6 numpy
cat > "$folder/prompt.py" <<'PYTHON'
import json
import os
import sys
from importlib.metadata import version
from urllib.request import Request, urlopen

import gguf
import numpy as np
import xllamacpp
from transformers.utils.chat_template_utils import render_jinja_template

TEMPLATE = """{% for message in messages %}{{ message.role }}: {{ message.content }}
{%- for call in message.tool_calls or [] %}{{ call.function.name }} {{ call.function.arguments | tojson }}{% endfor %};
{%- endfor %}"""
ARGUMENTS = {"latitude": 52.5200066, "amount": 1234567.89, "price": 12.0, "order": 17293822569102704640}
WIDTH, TOKENS = 64, ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), "word"]


def write_model(path: str) -> None:
    """Write a Llama of one layer with random weights, and the template."""
    writer, random = gguf.GGUFWriter(path, "llama"), np.random.default_rng(1)
    writer.add_context_length(2048)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(1)
    writer.add_feed_forward_length(WIDTH)
    writer.add_head_count(2)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_tokenizer_model("llama")
    writer.add_token_list(TOKENS)
    writer.add_token_scores([0.0] * len(TOKENS))
    writer.add_token_types([2, 3, 3, *[6] * 256, 1])  # unknown, control, bytes, normal
    writer.add_chat_template(TEMPLATE)
    for name in ("token_embd", "output"):
        writer.add_tensor(f"{name}.weight", random.normal(size=(len(TOKENS), WIDTH)).astype(np.float32))
    for name in ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"):
        writer.add_tensor(f"blk.0.{name}.weight", random.normal(size=(WIDTH, WIDTH)).astype(np.float32))
    for name in ("output_norm", "blk.0.attn_norm", "blk.0.ffn_norm"):
        writer.add_tensor(f"{name}.weight", np.ones(WIDTH, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def conversation(arguments: object) -> list[dict]:
    call = {"id": "call_1", "type": "function", "function": {"name": "offer", "arguments": arguments}}
    return [
        {"role": "user", "content": "An offer, please."},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_1", "content": "sent"},
    ]


write_model(sys.argv[1])
params = xllamacpp.CommonParams()
params.model.path, params.use_jinja, params.warmup, params.verbosity = sys.argv[1], True, False, 1
params.n_ctx, params.n_parallel, params.hostnames, params.port = 2048, 1, ["127.0.0.1"], 0
server = xllamacpp.Server(params)
body = json.dumps({"messages": conversation(json.dumps(ARGUMENTS))}).encode()
request = Request(f"{server.listening_address}/apply-template", body, {"Content-Type": "application/json"})
theirs = json.load(urlopen(request, timeout=30))["prompt"]
huggingface = render_jinja_template([conversation(ARGUMENTS)], chat_template=TEMPLATE)[0][0]
print(f"transformers {version('transformers')}: {huggingface}\nxllamacpp {version('xllamacpp')}: {theirs}", flush=True)
written, read = (json.loads(text.split("offer ")[1].split(";")[0]) for text in (huggingface, theirs))
seen = {"latitude": 52.52, "amount": 1234570.0, "price": 12, "order": -1152921504606846976}
held = written == ARGUMENTS and read == seen
os._exit(0 if held else 1)  # without waiting for the server's threads
PYTHON
"$folder/venv/bin/python" "$folder/prompt.py" "$folder/model.gguf" 2> /dev/null
