"""The command: where it finds what it compares with."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from voiceagent.evals.command import Outputs, run_eval
from voiceagent.evals.runs import Plan
from voiceagent.validation.errors import CommandFailed

CONFIG = """
[agent]
[recognizer]
engine = "voiceagent.bench.people.offline:NoWords"
[llm]
engine = "voiceagent.testing:RehearsedModel"
[synthesizer]
engine = "espeak"
"""
GIT = ("git", "-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false")


def test_configuration_behind_a_link_is_found_at_a_revision(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository, link = tmp_path / "repository", tmp_path / "link"
    repository.mkdir()
    link.symlink_to(repository)
    (repository / "my.toml").write_text(CONFIG)
    (repository / "evals").mkdir()
    (repository / "evals/hello.toml").write_text('script = ["Hello."]\n')
    for command in (("init", "--quiet"), ("add", "."), ("commit", "--quiet", "-m", "a")):
        subprocess.run([*GIT, *command], cwd=repository, check=True)
    run, found = subprocess.run, []

    def run_git_alone(command: list[str], **options: Any) -> Any:
        if command[0] == "git":
            return run(command, **options)
        found.append(Path(command[command.index("--config") + 1]).read_text())
        return subprocess.CompletedProcess(command, 1, "", "not run")

    monkeypatch.setattr(subprocess, "run", run_git_alone)
    plan = Plan(link / "evals", link / "my.toml", {})
    with pytest.raises(CommandFailed, match="git:HEAD: not run"):
        run_eval(plan, "git:HEAD", Outputs())
    assert found == [CONFIG]
