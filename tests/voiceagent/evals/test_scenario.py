"""Scenario files: what they may say, and the errors of those that cannot be used."""

from __future__ import annotations

from pathlib import Path

import pytest

from voiceagent.evals.folder import read_scenarios, read_settings
from voiceagent.validation.errors import ConfigError

CODED = "from voiceagent.evals.scenario import Scenario\n"
GOOD = """
script = ["Hello.", { say = ["Two, please.", "Two of them."], wait_s = 1.5 }]
[[replies]]
to = "how many"
say = "Two."
[expect]
tools = [{ name = "add", arguments = { number = 2 } }]
"""


def write(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        (folder / f"{name}.toml").write_text(text)
    return folder


def test_texts_stand_for_lists_of_one(tmp_path: Path) -> None:
    [scenario] = read_scenarios(write(tmp_path, order=GOOD))
    assert scenario.name == "order"
    assert [line.say for line in scenario.file.script] == [("Hello.",), ("Two, please.", "Two of them.")]
    assert scenario.file.replies[0].to == ("how many",)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('script = ["Hi."]\n[line]\nkind = "satellite"', ("line.kind", "satellite", "'telephone'")),
        (
            'script = ["Hi."]\n[expect]\nsay = ["x"]',
            ("expect.say", "unknown key; allowed: tools, no_tools, says"),
        ),
        (
            'script = ["Hi."]\n[line]\nloss = 0.2',
            ('kind "clean" has no loss; allowed: with kind = "loss"',),
        ),
        ('script = [{ say = "Hi.", wait_s = -1 }]', ("script.0.wait_s", "-1")),
        ('[persona]\nhabits = ["sings"]\ngoal = "x"', ("persona.habits.0", "sings", "'pauses'")),
        ('[persona]\ntemper = "calm"', (".toml: without a script", "set persona.goal, or script")),
        ("script = [{ say = [] }]", ("script.0.say", "at least 1")),
        ('script = ["Hi [pause x]."]', ("script.0.say.0", "unknown mark [pause x]; allowed: [pause 1.5]")),
        ('script = ["[silence 5] Hi."]', ("unknown mark [silence 5]",)),
        ('script = ["Hi [pause 2"]', ("unknown mark [pause 2",)),
        ('script = ["Hi."]\n[persona]\nhabits = ["spells"]', ("habit spells", "pauses, interrupts")),
        ('script = ["Hi."]\n[expect]\nnever_says = ["!"]', ("expect.never_says.0", "'!'", "no words")),
        ('script = ["Hi."]\n[expect]\nsays = ["yes | "]', ("expect.says.0", "a | b")),
        ('script = ["Hi."]\n[expect]\ntools = [{ name = "a", result = "" }]', ("expect.tools.0.result",)),
        ('script = ["Hi."]\n[expect]\ntools = [{ name = "" }]', ("expect.tools.0.name",)),
        (
            'script = ["Hi."]\n[expect]\ntools = [{ name = "a", arguments = { b = [] }, times = 0 }]',
            ("expect.tools.0.arguments.b = []: allowed: text, a number, true, false, or a list of these",),
        ),
        ('script = ["Hi."]\n[expect]\njudge = [" "]', ("expect.judge.0",)),
        ('script = ["Hi."]\n[expect]\nmax_wait_s = inf', ("expect.max_wait_s", "finite")),
        ('script = ["Hi."]\n[expect]\nyields_within_s = nan', ("expect.yields_within_s", "finite")),
        ('script = [{ say = "Hi.", wait_s = inf }]', ("script.0.wait_s", "finite")),
        ('script = ["Hi."]\n[[replies]]\nto = []\nsay = "x"', ("replies.0.to",)),
        ('script = ["Hi."]\n[[replies]]\nto = "x"\nsay = []', ("replies.0.say",)),
        ("script = 3", ("script = 3",)),
        ("script = [3]", ("script.0 = 3",)),
        ("max_turns = ", ("cannot be read as TOML",)),
    ],
)
def test_an_error_names_file_key_value_and_what_is_allowed(
    tmp_path: Path, text: str, words: tuple[str, ...]
) -> None:
    with pytest.raises(ConfigError) as raised:
        read_scenarios(write(tmp_path, order=text))
    assert str(tmp_path / "order.toml") in str(raised.value)
    for word in words:
        assert word in str(raised.value)


def test_a_folder_without_scenarios_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no scenario; allowed"):
        read_scenarios(tmp_path)
    with pytest.raises(ConfigError, match="no such folder"):
        read_scenarios(tmp_path / "none")


def test_only_takes_names_and_patterns(tmp_path: Path) -> None:
    folder = write(tmp_path, order_two=GOOD, order_three=GOOD, cancel=GOOD)
    assert [one.name for one in read_scenarios(folder, ["order*"])] == ["order_three", "order_two"]
    with pytest.raises(ConfigError, match="no scenario is called ordr; allowed: cancel"):
        read_scenarios(folder, ["ordr"])


def test_a_python_file_has_scenarios_with_checks(tmp_path: Path) -> None:
    (tmp_path / "coded.py").write_text(
        f"{CODED}"
        "def check(call):\n    assert call.ended_by == 'agent', 'the agent must hang up'\n"
        "SCENARIOS = [Scenario.of('late', {'script': ['Goodbye.']}, check=check)]\n"
    )
    [scenario] = read_scenarios(tmp_path)
    assert scenario.name == "late"
    assert scenario.check is not None


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("1 / 0", "ZeroDivisionError"),
        ("raise SystemExit(3)", r"coded\.py: cannot be imported: SystemExit"),
        ("SCENARIOS = [3]", "allowed: a list of Scenario"),
        (f"{CODED}SCENARIOS = [Scenario.of('late', {{'skript': ['Hi.']}})]", r"coded\.py.*skript.*script"),
    ],
)
def test_a_python_file_that_fails_is_named(tmp_path: Path, code: str, message: str) -> None:
    (tmp_path / "coded.py").write_text(code)
    with pytest.raises(ConfigError, match=message):
        read_scenarios(tmp_path)


def test_settings_of_a_folder_have_defaults_and_errors(tmp_path: Path) -> None:
    assert read_settings(tmp_path).runs == 10
    write(tmp_path, eval='[judge]\nengine = "openai"\nmodel = "x"\n[times]\nfirst_token_s = 0.3')
    settings = read_settings(tmp_path)
    assert settings.judge is not None
    assert settings.judge.options == {"model": "x"}
    write(tmp_path, eval='questions = ["Was it polite?"]')
    with pytest.raises(ConfigError, match=r"eval\.toml: questions without a judge; set \[judge\]"):
        read_settings(tmp_path)
    write(tmp_path, eval="runs = 0")
    with pytest.raises(ConfigError, match=r"eval\.toml: runs = 0"):
        read_settings(tmp_path)
