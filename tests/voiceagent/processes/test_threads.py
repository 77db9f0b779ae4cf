"""Threads that libraries start: as many as the configuration says, whatever the environment does."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import thread_engines
from fixed_config import write_config
from hypothesis import given
from hypothesis import strategies as st
from served import served

from voiceagent.processes.engine_host import EngineHost, HostedEngine
from voiceagent.processes.threads import with_threads

ASKING_FOR_MANY = {"OPENBLAS_NUM_THREADS": "2", "OMP_NUM_THREADS": "7", "MKL_NUM_THREADS": "7"}
WANTED = {"blas": 1, "openmp": 1}


@pytest.fixture(autouse=True)
def many(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An environment that wants threads."""
    monkeypatch.setenv("COUNTED_IN", str(tmp_path))
    monkeypatch.delenv("LD_PRELOAD", raising=False)  # a preloaded OpenMP counts before any code of ours runs
    for name, value in ASKING_FOR_MANY.items():
        monkeypatch.setenv(name, value)


def read_counts(folder: Path) -> list[dict[str, int]]:
    """Return the counts that each process wrote."""
    return [json.loads(path.read_text()) for path in folder.glob("*.threads")]


@given(st.dictionaries(st.sampled_from([*ASKING_FOR_MANY, "OMP_THREAD_LIMIT", "PATH"]), st.just("9")))
def test_whatever_the_environment_says_of_threads_does_not_count(environment: dict[str, str]) -> None:
    told = with_threads(environment, 3)
    assert {name: value for name, value in told.items() if name != "PATH"} == with_threads({}, 3)
    assert told.get("PATH") == environment.get("PATH")


def test_the_command_line_imports_numpy_only_after_it_held_threads() -> None:
    code = "import sys, voiceagent.cli.main; print('numpy' in sys.modules)"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout == "False\n"


@pytest.mark.parametrize("threads", [None, 2])
async def test_an_engines_process_has_the_threads_of_its_table(threads: int | None) -> None:
    host = EngineHost(
        HostedEngine(
            "tested",
            "thread_engines:CountingRecognizer",
            {} if threads is None else {"threads": threads},
            RuntimeError,
            facts=("library_threads",),
        )
    )
    await host.start()
    found = host.facts["library_threads"]
    await host.close()
    assert found == {"blas": 1, "openmp": threads or 1}


async def test_a_server_and_its_children_have_one_thread_for_products(tmp_path: Path) -> None:
    shutil.copy(thread_engines.__file__, tmp_path / "counted_engines.py")
    engines = {
        name: f"counted_engines:{name.replace('Fixed', 'Counting')}"
        for name in ("FixedRecognizer", "FixedSynthesizer")
    }
    async with served(write_config(tmp_path, **engines)):
        counted = read_counts(tmp_path)
    assert counted == [WANTED, WANTED]
