"""The command: where it finds what it compares with."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from voiceagent.agents import Agent, tool
from voiceagent.cli.main import main
from voiceagent.evals import command
from voiceagent.evals.command import Outputs, run_eval
from voiceagent.evals.results import Run
from voiceagent.evals.runs import Plan
from voiceagent.validation.errors import CommandFailed, ConfigError

CONFIG = """
[agent]
[recognizer]
engine = "people.offline:NoWords"
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
    for words in (("init", "--quiet"), ("add", "."), ("commit", "--quiet", "-m", "a")):
        subprocess.run([*GIT, *words], cwd=repository, check=True)
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


class Kitchen(Agent):
    """An agent that others hand over to."""

    instructions = "You bake."

    @tool
    def bake(self, minutes: int) -> str:
        """Bake. minutes: how long."""
        return f"baked for {minutes} minutes"


class Shop(Agent):
    """An agent with a tool."""

    instructions = "You sell pizza."

    @tool
    def add(self, number: int) -> str:
        """Add pizzas. number: how many."""
        return f"added {number}"


def shop_with(folder: Path, expect: str) -> Plan:
    (folder / "my.toml").write_text(CONFIG.replace("[agent]", f'[agent]\npython = "{__name__}:Shop"'))
    (folder / "evals").mkdir()
    (folder / "evals/hello.toml").write_text(f'script = ["Hello."]\n[expect]\n{expect}\n')
    return Plan(folder / "evals", folder / "my.toml", {})


@pytest.mark.parametrize(
    ("expect", "reason"),
    [
        ('no_tools = ["ad"]', "expect.no_tools = 'ad': no agent has this tool; allowed: .*add.*bake"),
        ('tools = [{ name = "ad", times = 0 }]', "expect.tools = 'ad': no agent has this tool"),
        (
            'tools = [{ name = "bake", arguments = { minute = 5 }, times = 0 }]',
            "expect.tools.arguments = 'minute': bake has no such argument; allowed: minutes",
        ),
    ],
)
def test_a_forbidden_tool_that_no_agent_has_is_an_error(tmp_path: Path, expect: str, reason: str) -> None:
    with pytest.raises(ConfigError, match=f"hello: {reason}"):
        run_eval(shop_with(tmp_path, expect), "", Outputs())


@pytest.mark.parametrize(
    "expect",
    [
        'no_tools = ["add", "bake"]',
        'tools = [{ name = "bake", arguments = { minutes = 5 }, times = 0 }]',
        'tools = [{ name = "ad" }]',  # a tool that is still to be written: it fails in each call
    ],
)
def test_other_names_of_tools_are_left_to_the_calls(
    tmp_path: Path, expect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = [Run("hello", 1, ())]
    monkeypatch.setattr(command, "make_runs", lambda _: iter(made))
    run_eval(shop_with(tmp_path, expect), "", Outputs())


def test_a_pass_rate_of_zero_does_not_allow_other_names_of_tools(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no agent has this tool"):
        run_eval(shop_with(tmp_path, 'no_tools = ["ad"]'), "", Outputs(min_rate=0.0))


def test_a_revision_that_is_compared_with_may_lack_a_forbidden_tool(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = shop_with(tmp_path, 'no_tools = ["add"]')
    newer = plan.config.read_text()
    script = 'RehearsedModel"\nscript = [["Hello."]]'
    plan.config.write_text(CONFIG.replace('RehearsedModel"', script))  # its agent has no tools
    for words in (("init", "--quiet"), ("add", "."), ("commit", "--quiet", "-m", "a")):
        subprocess.run([*GIT, *words], cwd=tmp_path, check=True)
    plan.config.write_text(newer)
    made = [Run("hello", 1, ())]
    monkeypatch.setattr(command, "make_runs", lambda _: iter(made))
    run_eval(replace(plan, typed=True, runs=1), "git:HEAD", Outputs())


def test_a_rate_that_is_none_is_refused_before_any_call(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = shop_with(tmp_path, "")
    assert main(["eval", str(plan.folder), f"--config={plan.config}", "--min-rate=90"]) == 1
    assert capsys.readouterr().err.strip() == "voiceagent: --min-rate is 90; allowed: 0 to 1"
