"""The files for deployment, checked without Docker: as far as parsers, systemd and our own code go."""

from __future__ import annotations

import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from voiceagent.cli.main import _parser
from voiceagent.config.tables import load

DEPLOY = Path(__file__).parents[2] / "configs/deploy"


@pytest.fixture
def services() -> dict[str, Any]:
    services: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yml").read_text())["services"]
    return services


def test_the_configuration_loads_and_asks_for_keys() -> None:
    config = load(DEPLOY / "voiceagent.toml")
    assert config.server.api_keys_env == "VOICEAGENT_KEYS"


def test_files_that_are_mounted_are_there(services: dict[str, Any]) -> None:
    mounted = [volume.split(":")[0] for service in services.values() for volume in service.get("volumes", [])]
    files = [name for name in mounted if name.startswith("./")]
    assert len(files) == 2
    assert all((DEPLOY / name).is_file() for name in files)
    declared = yaml.safe_load((DEPLOY / "compose.yml").read_text())["volumes"]
    assert {name for name in mounted if not name.startswith("./")} == set(declared)


def test_the_user_of_the_image_may_write_where_it_is_installed_and_where_volumes_are(
    services: dict[str, Any],
) -> None:
    docker = (DEPLOY / "Dockerfile").read_text()
    (user,) = re.findall(r"^USER (\S+)", docker, re.MULTILINE)
    own = re.findall(rf"install --directory --owner={user} (.*)", docker)[0].split()
    [folder] = re.findall(r"^WORKDIR (\S+)", docker, re.MULTILINE)  # made as root, and COPY leaves it so
    volumes = [volume for volume in services["voiceagent"]["volumes"] if not volume.startswith("./")]
    assert set(own) == {folder, *(volume.split(":")[1] for volume in volumes)}


def test_what_compose_has_a_redis_and_a_volume_for_is_installed(services: dict[str, Any]) -> None:
    arguments = services["voiceagent"]["build"]["args"]
    makefile = (DEPLOY.parents[1] / "Makefile").read_text()
    targets = arguments["TARGETS"].split()
    assert {"install", "semantic-cache"} <= set(targets)
    assert all(re.search(rf"^{target}:", makefile, re.MULTILINE) for target in targets)
    extras = tomllib.loads((DEPLOY.parents[1] / "pyproject.toml").read_text())["project"]
    assert "calls" in arguments["EXTRAS"].split(",")
    assert set(arguments["EXTRAS"].split(",")) <= extras["optional-dependencies"].keys()


def test_what_is_built_and_waited_for_is_there(services: dict[str, Any]) -> None:
    build = services["voiceagent"]["build"]
    assert (DEPLOY / build["context"] / build["dockerfile"]).is_file()
    assert all(set(service.get("depends_on", [])) <= services.keys() for service in services.values())


def test_keys_of_the_configuration_reach_the_container(services: dict[str, Any]) -> None:
    config = tomllib.loads((DEPLOY / "voiceagent.toml").read_text())
    wanted = {config["server"]["api_keys_env"], config["llm"]["api_key_env"]}
    assert wanted <= services["voiceagent"]["environment"].keys()


def test_the_udp_port_is_opened(services: dict[str, Any]) -> None:
    [port] = {*load(DEPLOY / "voiceagent.toml").webrtc.ports}
    assert services["voiceagent"]["ports"] == [f"{port}:{port}/udp"]


def test_containers_and_units_stop_no_sooner_than_calls_are_drained(services: dict[str, Any]) -> None:
    drain_s = load(DEPLOY / "voiceagent.toml").server.drain_s
    assert services["voiceagent"]["stop_grace_period"] == f"{drain_s / 3600:.0f}h"
    unit = (DEPLOY / "voiceagent.service").read_text()
    assert int(re.findall(r"TimeoutStopSec=(\d+)", unit)[0]) > drain_s


def test_the_commands_that_they_start_are_ours() -> None:
    docker = (DEPLOY / "Dockerfile").read_text()
    entry, words = (
        re.findall(rf"^{name} \[(.*)\]", docker, re.MULTILINE)[0] for name in ("ENTRYPOINT", "CMD")
    )
    started = [word for part in (entry, words) for word in re.findall(r'"([^"]*)"', part)]
    unit = re.findall(r"ExecStart=\S+/voiceagent (.*)", (DEPLOY / "voiceagent.service").read_text())[
        0
    ].split()
    for command in (started[1:], unit):
        assert _parser().parse_args(command).config == Path("/etc/voiceagent/voiceagent.toml")


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not here")
def test_systemd_understands_the_unit(tmp_path: Path) -> None:
    unit = tmp_path / "voiceagent.service"
    text = (DEPLOY / "voiceagent.service").read_text()
    unit.write_text(
        re.sub(r"ExecStart=\S+", "ExecStart=/bin/true", text)
    )  # the program is not installed here
    done = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True, check=False)
    told = [line for line in done.stderr.splitlines() if "voiceagent.service" in line]
    assert told == []
