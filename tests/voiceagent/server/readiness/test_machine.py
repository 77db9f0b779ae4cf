from __future__ import annotations

from voiceagent.server.readiness.machine import GIB, Gpu, available_memory, parse_gpus, this_machine


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
