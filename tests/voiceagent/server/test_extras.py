"""The server starts without the package's extras."""

from __future__ import annotations

import subprocess
import sys

EXTRAS = (
    *("alembic", "anthropic", "faster_whisper", "fsspec", "livekit", "matplotlib", "mcp", "opentelemetry"),
    *(
        "piper",
        "pocketsphinx",
        "psutil",
        "psycopg",
        "py3langid",
        "redis",
        "sounddevice",
        "sqlalchemy",
        "torch",
        "vllm",
    ),
    "zstandard",
)
PROGRAM = f"import sys; sys.modules |= dict.fromkeys({EXTRAS!r}); import voiceagent.server.app"


def test_the_server_is_imported_without_any_extra() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
