from __future__ import annotations

import subprocess
import sys

from voiceagent.engines.catalogue import KNOWN_ENGINES


def test_what_is_installed_is_found_out_without_importing_it_nor_does_a_server_bring_it():
    """Its start would take half as long again with the package of OpenAI's clients alone."""
    code = """
import sys
import voiceagent.server.app
from voiceagent.engines.catalogue import KNOWN_ENGINES
for known in KNOWN_ENGINES:
    known.installed()
print(*({module for known in KNOWN_ENGINES for module in known.modules} & set(sys.modules)))
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(run.stdout.split()) <= {"onnxruntime", "httpx2", "websockets"}, "which every server uses"


def test_short_names_are_unique_in_their_stage():
    names = [(known.stage, known.name) for known in KNOWN_ENGINES]
    assert len(set(names)) == len(names)
