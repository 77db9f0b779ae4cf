"""The process in which llama.cpp's own HTTP server runs: `python -m` this module.

It reads its settings as a line of JSON from standard input, writes a line of JSON with its address or an
error to standard output, and ends when standard input is closed: a parent that dies takes it along.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

LOOPBACK = "127.0.0.1"
_ERRORS_ONLY = 1
_BATCH_TOKENS = 64
"""Tokens of a prompt that are read between two reports of progress, about 1 s on one slow core."""


def _serve(settings: dict[str, Any]) -> Any:
    """Start the server. settings: see `LlamaCppProcess`."""
    import xllamacpp  # noqa: PLC0415 - optional

    params = xllamacpp.CommonParams()
    params.model.path = settings["model"]
    params.n_parallel = settings["max_running"]
    params.n_ctx = settings["context_tokens"] * settings["max_running"]
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = settings["threads"]
    # do not spin between operations: recognition and the voice need the cores as well
    params.cpuparams.poll = params.cpuparams_batch.poll = 0
    if not settings["gpu_layers"]:
        params.n_batch = _BATCH_TOKENS
    params.n_gpu_layers = settings["gpu_layers"]
    params.hostnames, params.port = [LOOPBACK], 0
    params.api_keys = [settings["api_key"]]
    params.cache_ram_mib = settings["cache_mib"]
    params.special = settings["special"]
    params.ui, params.endpoint_slots = False, False
    params.verbosity = _ERRORS_ONLY
    # prompts come as tokens: it need not understand the file's own template
    params.use_jinja, params.chat_template = False, "chatml"
    return xllamacpp.Server(params)


def main() -> None:
    """Serve until standard input is closed."""
    settings = json.loads(sys.stdin.readline())
    # what llama.cpp prints must not be taken for the answer
    answer = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    try:
        server = _serve(settings)
        told = {"url": server.listening_address}
    except Exception as error:  # xllamacpp raises whatever its C++ side throws
        server, told = None, {"error": f"{type(error).__name__}: {error}"}
    try:
        print(json.dumps(told), file=answer, flush=True)
        if server is not None:
            sys.stdin.read()
    finally:  # also if the parent died meanwhile and cannot be answered
        # without the destructors of native threads, which may still be computing, or wait for ever
        os._exit(0 if server is not None else 1)


if __name__ == "__main__":
    main()
