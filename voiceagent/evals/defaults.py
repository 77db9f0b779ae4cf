"""Defaults of the command line, without the imports of an eval."""

from __future__ import annotations

from pathlib import Path

RESULTS = Path("eval-results")
"""Folder of all evals, in the current one."""
PORT = 8090
"""Port of the page of evals."""
