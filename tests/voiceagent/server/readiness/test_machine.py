"""The arithmetic of int8 on a processor, and the finding about it."""

from __future__ import annotations

from pathlib import Path

import pytest

from voiceagent.config.tables import load
from voiceagent.server.readiness.findings import Finding, find
from voiceagent.server.readiness.machine import (
    GIB,
    Gpu,
    Int8Arithmetic,
    Machine,
    available_memory,
    int8_arithmetic,
    parse_gpus,
    this_machine,
)


def test_gpus_are_read_from_the_drivers_table():
    table = "NVIDIA H100 80GB HBM3, 81559, 9.0\nTesla T4, 15360, 7.5\n"
    assert parse_gpus(table) == (
        Gpu("NVIDIA H100 80GB HBM3", 81559 << 20, (9, 0)),
        Gpu("Tesla T4", 15360 << 20, (7, 5)),
    )


def test_what_is_no_such_table_is_no_gpu():
    assert parse_gpus("No devices were found\n") == ()
    assert parse_gpus("Odd, [N/A], [N/A]\n") == ()


def test_free_memory_is_linuxs_own_estimate(tmp_path):
    (tmp_path / "meminfo").write_text("MemTotal: 2 kB\nMemAvailable:   1048576 kB\n")
    assert available_memory(tmp_path / "meminfo") == GIB
    assert available_memory(tmp_path / "none") is None


def test_this_machine_can_be_asked():
    assert this_machine().vllm in ("cpu", "cuda", "")


DEMO = Path(__file__).parents[4] / "configs" / "demo.toml"
AMD = "processor\t: 0\nvendor_id\t: AuthenticAMD\nflags\t\t: fpu avx2 fma\n"
AMD_VNNI = AMD.replace("avx2", "avx2 avx512_vnni")
INTEL = AMD.replace("AuthenticAMD", "GenuineIntel")


@pytest.mark.parametrize(
    ("cpuinfo", "environ", "expected", "saturates"),
    [
        (AMD, {}, Int8Arithmetic("oneDNN", False), True),
        (AMD_VNNI, {}, Int8Arithmetic("oneDNN", True), False),
        (AMD, {"CT2_USE_MKL": "1"}, Int8Arithmetic("MKL", False), False),
        (INTEL, {}, Int8Arithmetic("MKL", False), False),
        (INTEL, {"CT2_USE_MKL": "0"}, Int8Arithmetic("oneDNN", False), True),
    ],
)
def test_vendor_flags_and_environment_decide_the_arithmetic(
    cpuinfo: str, environ: dict[str, str], expected: Int8Arithmetic, saturates: bool
) -> None:
    arithmetic = int8_arithmetic(cpuinfo, environ)
    assert arithmetic == expected
    assert arithmetic.saturates is saturates


@pytest.mark.parametrize("cpuinfo", ["", "processor\t: 0\nFeatures\t: fp asimd\n"])
def test_other_processors_are_unknown(cpuinfo: str) -> None:
    assert int8_arithmetic(cpuinfo, {}) is None


def about_int8(folder: Path, cpuinfo: str, model: str = "", compute_type: str = "int8") -> list[Finding]:
    """Return the findings about int8 for the demo, with another model and type if given."""
    text = DEMO.read_text().replace('compute_type = "int8"', f'compute_type = "{compute_type}"')
    text = text.replace('"package:voiceagent.demo/weights/ct2"', f'"{model}"') if model else text
    (folder / "own.toml").write_text(text)
    found = find(load(folder / "own.toml"), Machine(8 * GIB, (), "", cpuinfo), {})
    return [finding for finding in found if finding.text.startswith("int8 ")]


def test_saturating_sums_are_a_note_for_other_weights_than_the_demos(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    (note,) = about_int8(tmp_path, AMD, "./model")
    assert note.state == "note"
    assert "may saturate; CT2_USE_MKL=1" in note.text
    assert [finding.state for finding in about_int8(tmp_path, AMD)] == ["ok"]
    assert [finding.state for finding in about_int8(tmp_path, AMD_VNNI, "./model")] == ["ok"]


def test_float32_has_no_finding_about_int8(tmp_path: Path) -> None:
    assert about_int8(tmp_path, AMD, compute_type="float32") == []
