"""The commands and snippets of the READMEs, and which of the commands are run."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = ("voiceagent", "audio", "llmcore", "configs", "tests", "examples")
PATIENCE_S = 300
"""What ends a command that hangs; on a busy machine an import takes most of a minute."""
READMES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")),
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted(each for name in FOLDERS for each in (ROOT / name).rglob("README.md")),
    ROOT / "tests/bench/RESULTS.md",
    *sorted((ROOT / "tests/bench/results").glob("*.md")),
]

NOT_RUN = {
    r"voiceagent serve": "does not end; tests/e2e serves",
    r"voiceagent llm": "does not end; tests/llmcore/serving/test_chat_completions.py has its routes",
    r"voiceagent talk (?!--url)": "loads real engines; tests/voiceagent/cli/test_cli.py has it",
    r"voiceagent talk --url": "needs a server; tests/voiceagent/cli/test_first_hour.py has it",
    r"voiceagent call ": "needs a provider; telephony/outbound/test_setup.py has it",
    r"voiceagent (calls|replay|score)": "needs kept calls; tests/voiceagent/cli/test_calls.py has them",
    r"voiceagent eval": "calls for minutes; tests/voiceagent/evals has it",
    r"voiceagent (bench|soak|gate)": "takes minutes; tests/voiceagent/bench has the parts",
    r"make ": "installs or serves: it is asked what it would do",
    r"pip (install|wheel) ": "installs: it is checked that the extra is there",
    r"python -m voiceagent.config.reference": "writes a page; test_reference.py compares it",
    r"python -m examples": "takes minutes; tests/examples has the parts",
    r"python tests/": "takes minutes: it is checked that the script is there",
    r"python -m pytest": "is what runs this",
    r"python -m venv": "is no program of ours; test_wheel.py makes an environment",
    r"voiceagent convert": "needs a model; tests/voiceagent/cli/test_convert.py has it",
    r"voiceagent adapt": "trains for minutes; tests/audio/adaptation has the parts",
    r"voiceagent voices": "downloads a voice; tests/voiceagent/cli/test_voices.py has it",
    r"voiceagent calibrate": "refuses the demo model; tests/voiceagent/cli/test_calibrate.py has it",
}
"""By a regular expression for the begin of the command."""


def shell_lines(text: str) -> list[str]:
    """The commands of a README: lines of shell blocks, and what stands in backquotes."""
    blocks = re.findall(r"```(?:sh|bash)\n(.*?)```", text, re.DOTALL)
    lines = [line for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    inline = re.findall(r"`([^`]+)`", re.sub(r"```.*?```", "", text, flags=re.DOTALL))
    commands = [
        " ".join(re.split(r"\s#\s", line)[0].split()).removeprefix(".venv/bin/") for line in lines + inline
    ]
    starts = ("voiceagent ", "make ", "pip install ", "pip wheel ", "python -m ", "python tests/", "uvicorn ")
    return [command.replace(".venv/bin/", "") for command in commands if command.startswith(starts)]


def snippets(language: str) -> list[tuple[str, str]]:
    """Blocks in the language, each with its README and first line."""
    return [
        (f"{readme.relative_to(ROOT)}: {block.splitlines()[0]}", block)
        for readme in READMES
        for block in re.findall(rf"```{language}\n(.*?)```", readme.read_text(), re.DOTALL)
    ]


def snippet(begin: str) -> str:
    """The block of Python that begins so."""
    return next(block for _, block in snippets("python") if block.startswith(begin))


def snippet_with(part: str) -> str:
    """Return the first block of Python that contains this part."""
    return next(block for _, block in snippets("python") if part in block)


def prepared(command: str, folder: Path) -> list[str]:
    """The words of a command that takes seconds, and in the folder what it needs."""
    words = shlex.split("uvicorn --version" if command.startswith("uvicorn ") else command)
    if "voiceagent.triage.exports" in words:
        (folder / words[-1]).mkdir(parents=True)
    elif any(word.startswith("configs/") for word in words):
        (folder / "configs").symlink_to(ROOT / "configs")
    return words


COMMANDS = sorted({command for readme in READMES for command in shell_lines(readme.read_text())})
RUN = [command for command in COMMANDS if not any(re.match(begin, command) for begin in NOT_RUN)]
"""The commands that take only seconds."""
