"""An OpenAI-compatible server in a process of its own, that a test can kill: PORT, seconds between words."""

from __future__ import annotations

import sys
from pathlib import Path

import uvicorn
from chat_server import chat_app

sys.path.append(str(Path(__file__).parents[1] / "bench"))
from fixed_engines import FixedLlm

if __name__ == "__main__":
    _, port, word_s = sys.argv
    app = chat_app(FixedLlm(ttft_s=0.05, word_s=float(word_s)))
    uvicorn.run(app, port=int(port), log_level="warning", lifespan="off")
